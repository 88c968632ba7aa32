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

  it('of more than there is left begin as long as anything is, and end in parts', async () => {
    const turns = new Turns(10);
    const begun: string[] = [];
    const enter = async (name: string, amount: number) => {
      if (await turns.begin(never, amount)) begun.push(name);
    };
    await Promise.all([enter('a', 9), enter('b', 50)]);
    const rest = [enter('c', 1), enter('d', 9), enter('e', 1)];
    turns.end(40);
    await Promise.resolve();
    expect({ begun, taken: turns.taken }).toEqual({ begun: ['a', 'b'], taken: 19 });
    turns.end(10);
    await rest[0];
    expect({ begun, taken: turns.taken }).toEqual({ begun: ['a', 'b', 'c'], taken: 10 });
    turns.end(9);
    await Promise.all(rest.slice(0, 2));
    expect({ begun, taken: turns.taken }).toEqual({ begun: ['a', 'b', 'c', 'd'], taken: 10 });
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
