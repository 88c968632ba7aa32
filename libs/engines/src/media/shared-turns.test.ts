import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SharedTurns } from './shared-turns.ts';

const never = new AbortController().signal;

describe('shared turns', () => {
  /** Asks for turns of these parties, one after the other. Returns who got one, as it happens. */
  async function askedBy(turns: SharedTurns, parties: string): Promise<string[]> {
    const begun: string[] = [];
    for (const party of parties)
      void turns.begin(party, never).then((isBegun) => isBegun && begun.push(party));
    await setImmediate();
    return begun;
  }

  it.each([
    ['aaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaa'],
    ['aaaaaaaaaaaaaaaaaaaabbbbbbbb', 'aaaaaaaaaaaabbb'],
    ['abcdefghijklmnopqrst', 'abcdefghijklmnop'],
  ])('leave a quarter to others: of 16, %s get %s', async (asking, begun) => {
    expect((await askedBy(new SharedTurns(16), asking)).join('')).toBe(begun);
  });

  it('may be as few as one', async () => {
    const turns = new SharedTurns(1);
    const begun = await askedBy(turns, 'aab');
    expect(begun).toEqual(['a']);
    turns.end('a');
    await setImmediate();
    expect(begun).toEqual(['a', 'a']);
    turns.end('a');
    await setImmediate();
    expect(begun).toEqual(['a', 'a', 'b']);
  });

  it('come in order, but not to those that have their share', async () => {
    const turns = new SharedTurns(4);
    const begun = await askedBy(turns, 'aaaabbc');
    expect(begun.join('')).toBe('aaab');
    turns.end('b');
    await setImmediate();
    expect(begun.join('')).toBe('aaabb');
    turns.end('a');
    await setImmediate();
    expect(begun.join('')).toBe('aaabbc');
  });

  it('are not lost to one who left the line, nor given to one whose signal had aborted', async () => {
    const turns = new SharedTurns(1);
    expect(await turns.begin('a', AbortSignal.abort())).toBe(false);
    expect(await turns.begin('a', never)).toBe(true);
    const leaving = new AbortController();
    const left = turns.begin('b', leaving.signal);
    const next = turns.begin('c', never);
    leaving.abort();
    expect(await left).toBe(false);
    turns.end('a');
    expect(await next).toBe(true);
  });
});
