import { expect, test } from 'vitest';
import { imageTypeOf, typeOfData } from './image-type.ts';

const rest = '\0'.repeat(40);
const kinds: readonly [head: string, type: string][] = [
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['\xff\xd8\xff\xe0', 'image/jpeg'],
  ['GIF87a', 'image/gif'],
  ['GIF89a', 'image/gif'],
  ['RIFF\x10\0\0\0WEBPVP8 ', 'image/webp'],
  ['\0\0\0\x20ftypavif', 'image/avif'],
  ['\0\0\0\x20ftypheic', 'image/heic'],
  ['\0\0\0\x20ftypheix', 'image/heic'],
  ['\0\0\0\x20ftypmif1', 'image/heif'],
  ['II*\0', 'image/tiff'],
  ['MM\0*', 'image/tiff'],
];
const base64 = (head: string) => Buffer.from(head + rest, 'latin1').toString('base64');

test.each(kinds)('an image that begins with %j is of type %s, whatever its client says', (head, type) => {
  expect(imageTypeOf(Buffer.from(head + rest, 'latin1'))).toBe(type);
  expect(typeOfData('image/bmp', base64(head))).toBe(type);
  expect(typeOfData('application/pdf', base64(head))).toBe('application/pdf');
});

test.each([
  ['another container of the same kind', 'AVI \x10\0\0\0WEBPVP8 '],
  ['nothing', ''],
  ['a beginning that is cut off', '\x89PN'],
  ['a beginning in another place', ' GIF89a'],
])('the bytes of %s tell no type, so the given one stays', (_what, head) => {
  expect(imageTypeOf(Buffer.from(head, 'latin1'))).toBeUndefined();
  expect(typeOfData('image/bmp', base64(head))).toBe('image/bmp');
  expect(typeOfData('image/jpg', base64(head))).toBe('image/jpeg');
});
