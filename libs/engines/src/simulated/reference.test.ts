import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { referenceText, referenceToken } from './reference.ts';
import { parseStamps, stampToken } from './stamp.ts';

const seeds = fc.integer({ min: 0, max: 0xffffffff });
const positions = fc.integer({ min: 0, max: 1_000_000 });

describe('the reference text', () => {
  it('never changes, since other versions and other tools rely on it', () => {
    expect(referenceText(7, 0, 6)).toMatchInlineSnapshot(`"mountain lark rust robin harvest camel"`);
    expect(referenceText(4294967295, 1000, 3)).toMatchInlineSnapshot(`" horizon shell glacier"`);
  });

  it('is the same however it is split', () => {
    fc.assert(
      fc.property(seeds, fc.nat(50), fc.nat(50), (seed, first, second) => {
        const parts = referenceText(seed, 0, first) + referenceText(seed, first, second);
        expect(parts).toBe(referenceText(seed, 0, first + second));
      }),
    );
  });

  it('consists of words, each after the first preceded by a space', () => {
    fc.assert(
      fc.property(seeds, positions, (seed, position) => {
        expect(referenceToken(seed, position)).toMatch(position === 0 ? /^[a-z]+$/ : /^ [a-z]+$/);
      }),
    );
  });

  it('differs between seeds and uses its whole vocabulary', () => {
    const texts = new Set(Array.from({ length: 1000 }, (_value, seed) => referenceText(seed, 0, 8)));
    expect(texts.size).toBe(1000);
    expect(new Set(referenceText(1, 0, 5000).split(' ')).size).toBe(256);
  });
});

describe('stamps', () => {
  it('are separated into the reference text and the emission times', () => {
    const stamped = [0, 1, 2].map((position) =>
      stampToken(referenceToken(9, position), 1_700_000_000_000.125 + position),
    );
    expect(parseStamps(stamped.join(''))).toEqual({
      text: referenceText(9, 0, 3),
      emittedAt: [1_700_000_000_000.125, 1_700_000_000_001.125, 1_700_000_000_002.125],
    });
    expect(new Set(stamped.map((token) => token.trim().length - token.trim().indexOf('@')))).toEqual(
      new Set([18]),
    );
  });

  it('leave a text without them alone', () => {
    expect(parseStamps('mail me @ home')).toEqual({ text: 'mail me @ home', emittedAt: [] });
  });
});
