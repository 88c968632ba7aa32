import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatToken, isTokenText, TokenReader } from './token-text.ts';

function read(text: string, cuts: readonly number[] = []) {
  const stamps: number[] = [];
  const reader = new TokenReader((emittedAt) => stamps.push(emittedAt));
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  let from = 0;
  let count = 0;
  for (const end of ends) {
    count += reader.push(bytes, from, end);
    from = end;
  }
  count += reader.end();
  return { count, stamps, problem: reader.problem };
}

describe('numbered tokens', () => {
  it('are read back with their instants from any split', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.nat()),
        fc.boolean(),
        (count, cuts, isStamped) => {
          const at = (position: number) => 7_000_123.25 + position;
          const text = Array.from({ length: count }, (_, i) =>
            formatToken(i, isStamped ? at(i) : undefined),
          ).join('');
          const stamps = isStamped ? Array.from({ length: count }, (_, i) => at(i)) : [];
          expect(read(text, cuts)).toEqual({ count, stamps, problem: undefined });
        },
      ),
    );
  });

  it.each([
    ['gap', 'tok0 tok2 '],
    ['gap', 'tok1 '],
    ['duplicate', 'tok0 tok0 '],
    ['duplicate', 'tok0 tok1 tok0 '],
    ['foreign', 'tok0 hello '],
    ['foreign', 'tok0 tokx '],
    ['foreign', 'tok0  tok1 '],
    ['foreign', 'tok0 tok'],
  ])('show a %s in %j', (problem, text) => {
    expect(read(text).problem).toBe(problem);
  });

  it('count the last one without its space', () => {
    expect(read('tok0 tok1')).toMatchObject({ count: 2, problem: undefined });
  });

  it('are told from other text by their first word', () => {
    const starts = (text: string) => isTokenText(Buffer.from(text), 0, text.length);
    expect(['tok0 ', 'tok0@12 ', 'tok', 'token', ''].map(starts)).toEqual([true, true, false, false, false]);
  });
});
