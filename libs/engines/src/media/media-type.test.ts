import { describe, expect, it } from 'vitest';
import { mayBe, typeOf } from './media-type.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

describe('the content type of a server', () => {
  it.each([
    ['image/*', 'image/png'],
    ['image/png', 'Image/JPEG; q=1'],
    ['image/*', ''],
    ['image/*', 'binary/octet-stream'],
    ['application/pdf', 'application/x-pdf'],
    ['application/pdf', 'application/octet-stream'],
    ['text/plain', 'text/markdown; charset=utf-8'],
    ['text/html', 'text/html'],
    ['audio/wav', 'audio/wav'],
  ])('lets a file that should be %s be %j', (expected, told) => expect(mayBe(expected, told)).toBe(true));

  it.each([
    ['image/*', 'text/html'],
    ['image/*', 'application/pdf'],
    ['application/pdf', 'image/png'],
    ['application/pdf', 'text/html'],
    ['text/plain', 'text/html'],
    ['text/plain', 'application/octet-stream'],
    ['text/plain', 'application/json'],
    ['audio/wav', 'video/mp4'],
  ])('does not let a file that should be %s be %j', (expected, told) =>
    expect(mayBe(expected, told)).toBe(false),
  );
});

describe('the bytes of a file', () => {
  it.each([
    ['\x89PNG\r\n\x1a\n....', 'image/png'],
    ['\xff\xd8\xff\xe0....', 'image/jpeg'],
    ['GIF89a....', 'image/gif'],
    ['GIF87a....', 'image/gif'],
    ['RIFF....WEBPVP8 ', 'image/webp'],
    ['\0\0\0\x1cftypavif', 'image/avif'],
    ['\0\0\0\x1cftypheic', 'image/heic'],
  ])('%j tell the true type of a picture', (head, type) => {
    expect(typeOf('image/*', bytes(head))).toBe(type);
    expect(typeOf('image/bmp', bytes(head))).toBe(type);
  });

  it.each([
    '',
    '<html>',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'RIFF....WAVE',
    '....    WEBP',
    '%PDF-1.7',
    '{}',
  ])('%j are no picture', (head) => expect(typeOf('image/png', bytes(head))).toBeUndefined());

  it('are a PDF if its mark is near the beginning', () => {
    expect(typeOf('application/pdf', bytes('\xef\xbb\xbf%PDF-1.7'))).toBe('application/pdf');
    expect(typeOf('application/pdf', bytes(`${' '.repeat(2000)}%PDF-1.7`))).toBeUndefined();
    expect(typeOf('application/pdf', bytes('<html>'))).toBeUndefined();
  });

  it('are text if they are UTF-8 without a null', () => {
    expect(typeOf('text/plain; charset=utf-8', Buffer.from('Grüße'))).toBe('text/plain');
    expect(typeOf('text/plain', bytes('Gr\xfc\xdfe'))).toBeUndefined();
    expect(typeOf('text/plain', bytes('a\0b'))).toBeUndefined();
  });
});
