import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countWithinLimits } from './body-limits.ts';

const nested = (depth: number, inner: string): string => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;
const isWithin = (text: string): boolean => {
  try {
    countWithinLimits(Buffer.from(text));
    return true;
  } catch {
    return false;
  }
};

describe('the limits of a body', () => {
  const texts = fc
    .array(fc.constantFrom('[', '"', '\\', '[[[[[[[[[[', 'a', 'ä', '""', '\\"', 'word '.repeat(9)), {
      maxLength: 30,
    })
    .map((parts) => parts.join(''));

  it('count nothing of a text, whatever it holds', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(isWithin(nested(200, JSON.stringify(text)))).toBe(true);
      }),
    );
  });

  it('count all that comes after a text', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const body = nested(100, `${JSON.stringify(text)},${nested(100, '"end"')}`);
        expect([isWithin(body), isWithin(`[${body}]`)]).toEqual([true, false]);
      }),
    );
  });

  it('count each value once, and a list that has ended no more among those that are open', () => {
    expect(countWithinLimits(Buffer.from('[{"a":1},["y"],"x"]'))).toBe(6);
    expect(isWithin(`[${Array(300).fill('[{}]').join()}]`)).toBe(true);
  });

  it('count the fields of an object however deep it is', () => {
    const fields = Array.from({ length: 10_065 }, (_, at) => `"k${at}":0`);
    const deep = (from: number): string => nested(199, `{${fields.slice(from).join()}}`);
    expect([isWithin(deep(1)), isWithin(deep(0))]).toEqual([true, false]);
  });

  it.each(['"', '"\\', `"${'\\'.repeat(64)}`, `"${'a'.repeat(64)}\\"`, `"${'a'.repeat(31)}\\`])(
    'bear a text that does not end: %s',
    (text) => expect(isWithin(text)).toBe(true),
  );
});
