import { expect, it } from 'vitest';
import { encodeLarge } from './encode-large.ts';

const signs = ['a', 'ü', '→', '😀', '\ud83d', '\n', 'aü→😀\ud83d'];

it.each(signs)('a large text is its UTF-8, whatever it holds, and a small one stays a text: %j', (sign) => {
  for (const length of [0, 1, 16_383, 16_384, 699_050, 699_051, 2_000_000]) {
    const text = sign.repeat(length / sign.length + 1).slice(0, length);
    const encoded = encodeLarge(text);
    if (length < 16_384) expect(encoded).toBe(text);
    else expect(Buffer.from(text).equals(Buffer.from(encoded))).toBe(true);
  }
});

it('a large text keeps its bytes when others follow', () => {
  const first = encodeLarge('→'.repeat(20_000));
  encodeLarge('x'.repeat(60_000));
  expect(first).toEqual(Buffer.from('→'.repeat(20_000)));
});
