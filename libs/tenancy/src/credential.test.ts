import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hashCredential, isCredential, mintCredential, randomLetters, visiblePrefix } from './credential.ts';

it('a minted credential has the form of one, whatever the random source says first', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 43, maxLength: 43 }), (bytes) => {
      let first = true;
      const source = (size: number) => {
        const given = first ? bytes : randomBytes(size);
        first = false;
        return given;
      };
      const credential = mintCredential(source);
      expect(isCredential(credential)).toBe(true);
      expect(credential).toHaveLength(46);
    }),
  );
});

it('bytes that would favour some letters are thrown away', () => {
  const answers = [Uint8Array.of(248, 255, 61), Uint8Array.of(0, 62, 9)];
  expect(randomLetters(3, () => answers.shift() ?? Uint8Array.of())).toBe('z00');
});

it.each([
  '',
  'sk-',
  'sk-short',
  `pk-${'a'.repeat(43)}`,
  `sk-${'a'.repeat(39)}`,
  `sk-${'ä'.repeat(43)}`,
  `sk-${'a'.repeat(129)}`,
  ` sk-${'a'.repeat(43)}`,
])('text %j has not the form of a credential', (text) => {
  expect(isCredential(text)).toBe(false);
});

it('the stored hash depends on the credential and on the secret', () => {
  const one = hashCredential('sk-1', 'secret');
  expect(one).toBe(hashCredential('sk-1', 'secret'));
  expect(one).not.toBe(hashCredential('sk-2', 'secret'));
  expect(one).not.toBe(hashCredential('sk-1', 'another'));
});

it('four letters of a credential stay visible', () => {
  expect(visiblePrefix('sk-abcdefgh')).toBe('sk-abcd');
});
