import { describe, expect, it } from 'vitest';
import { Turns } from './turns.ts';

const never = new AbortController().signal;

describe('turns', () => {
  it('admit a limited number at once, and the others in order', async () => {
    const turns = new Turns(2);
    const seen: string[] = [];
    const enter = async (name: string) => {
      if (await turns.begin(never)) seen.push(name);
    };
    await Promise.all([enter('a'), enter('b')]);
    const rest = [enter('c'), enter('d')];
    await Promise.resolve();
    expect(seen).toEqual(['a', 'b']);
    turns.end();
    await rest[0];
    expect(seen).toEqual(['a', 'b', 'c']);
    turns.end();
    await rest[1];
    expect(seen).toEqual(['a', 'b', 'c', 'd']);
  });

  it('of more than there is left wait for it, in order, and end in parts', async () => {
    const turns = new Turns(10);
    const begun: string[] = [];
    const enter = async (name: string, amount: number) => {
      if (await turns.begin(never, amount)) begun.push(name);
    };
    await enter('a', 9);
    const rest = [enter('b', 5), enter('c', 1)];
    await Promise.resolve();
    expect({ begun, taken: turns.taken }).toEqual({ begun: ['a'], taken: 9 });
    turns.end(3);
    await Promise.resolve();
    expect({ begun, taken: turns.taken }).toEqual({ begun: ['a'], taken: 6 });
    turns.end(2);
    await Promise.all(rest);
    expect({ begun, taken: turns.taken }).toEqual({ begun: ['a', 'b', 'c'], taken: 10 });
  });

  it('of more than there is are had alone', async () => {
    const turns = new Turns(10);
    await turns.begin(never, 1);
    const alone = turns.begin(never, 50);
    const next = turns.begin(never, 10);
    turns.end(1);
    expect(await alone).toBe(true);
    expect(turns.taken).toBe(50);
    turns.end(50);
    expect(await next).toBe(true);
    expect(turns.taken).toBe(10);
  });

  it('are given to those behind one who wanted much and left the line', async () => {
    const turns = new Turns(10);
    await turns.begin(never, 5);
    const leaving = new AbortController();
    const left = turns.begin(leaving.signal, 6);
    const next = turns.begin(never, 5);
    leaving.abort();
    expect(await Promise.all([left, next])).toEqual([false, true]);
  });

  it('are not lost to one who left the line', async () => {
    const turns = new Turns(1);
    await turns.begin(never);
    const leaving = new AbortController();
    const left = turns.begin(leaving.signal);
    const next = turns.begin(never);
    leaving.abort();
    expect(await left).toBe(false);
    turns.end();
    expect(await next).toBe(true);
    turns.end();
    expect(await turns.begin(never)).toBe(true);
  });

  it('are not given to one whose signal had aborted', async () => {
    const turns = new Turns(1);
    expect(await turns.begin(AbortSignal.abort())).toBe(false);
    expect(await turns.begin(never)).toBe(true);
  });
});
