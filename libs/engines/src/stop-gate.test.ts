import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StopGate } from './stop-gate.ts';

function say(stops: readonly string[], pieces: readonly string[]) {
  const gate = new StopGate(stops);
  let text = '';
  for (const piece of pieces) {
    text += gate.push(piece).text;
    if (gate.matched !== undefined) return { text, matched: gate.matched };
  }
  return { text: text + gate.flush().text, matched: undefined };
}

/** The rule, by searching the whole text after each piece. */
function expected(stops: readonly string[], pieces: readonly string[]) {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    const found = stops
      .filter((stop) => text.includes(stop))
      .toSorted((one, other) => text.indexOf(one) - text.indexOf(other));
    if (found[0] !== undefined) return { text: text.slice(0, text.indexOf(found[0])), matched: found[0] };
  }
  return { text, matched: undefined };
}

describe('a gate', () => {
  it('holds back as much as may become a long string, character by character', () => {
    const many = 40_000;
    const gate = new StopGate([`${'a'.repeat(many)}b`]);
    let tokens = 0;
    for (let letter = 0; letter < 2 * many; letter += 1) tokens += gate.push('a').tokens;
    expect([tokens, gate.flush().tokens]).toEqual([many, many]);
  });

  it('stops where the text contains one of its strings, however it is split', () => {
    const words = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(words, { maxLength: 4 }), fc.array(words, { maxLength: 12 }), (stops, pieces) => {
        expect(say(stops, pieces)).toEqual(expected(stops, pieces));
      }),
      { numRuns: 2_000 },
    );
  });

  it('holds back only what may be the beginning of a string', () => {
    const gate = new StopGate(['aab', 'bc']);
    const said = ['a', 'a', 'a', 'x', 'b', 'b', 'd'].map((piece) => gate.push(piece).text);
    expect(said).toEqual(['', '', 'a', 'aax', '', 'b', 'bd']);
  });

  it('does not take flushed text for the beginning of a string', () => {
    const gate = new StopGate(['ab']);
    expect([gate.push('a').text, gate.flush().text, gate.push('b').text]).toEqual(['', 'a', 'b']);
    expect(gate.matched).toBeUndefined();
  });

  // If it is slow, the test runs into its time limit.
  it('reads a text that nearly matches many long strings as fast as any other', () => {
    const stops = Array.from({ length: 256 }, (_value, index) => `${'a'.repeat(60_000)}${index}`);
    const nearly = [...Array.from({ length: 3_600 }, () => 'a'.repeat(16)), 'c'];
    const pieces = [...nearly, ...nearly, ...nearly];
    expect(say(stops, pieces)).toEqual({ text: pieces.join(''), matched: undefined });
  });
});
