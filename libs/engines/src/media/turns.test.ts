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
