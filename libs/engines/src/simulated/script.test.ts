import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut } from './script.ts';

describe('a text that is cut into tokens', () => {
  it('is the same when they are joined, and no character is split', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
        const tokens = cut(text, size);
        expect(tokens.join('')).toBe(text);
        for (const token of tokens) expect(token.isWellFormed()).toBe(true);
        expect(tokens).not.toContain('');
      }),
    );
  });
});
