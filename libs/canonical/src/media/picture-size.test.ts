import { crc32, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { pictureSize } from './picture-size.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const inHex = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const sizeOf = (...bytes: Buffer[]) => pictureSize(Buffer.concat(bytes).toString('base64'));
const pixels = Buffer.alloc(40);

/** A whole picture, all of it black. */
function png(width: number, height: number, lines = height): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const rows = deflateSync(Buffer.alloc((width + 1) * lines));
  return Buffer.concat([
    inHex('89 50 4e 47 0d 0a 1a 0a'),
    chunk('IHDR', header),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const jpegStart = inHex('ff d8');
const segment = (marker: number, data: Buffer) => {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
};
const profile = (length: number) => segment(0xe2, Buffer.alloc(length, 'ICC_PROFILE'));
const frame = (marker: number, width: number, height: number) => {
  const data = Buffer.alloc(15);
  data.writeUInt8(8);
  data.writeUInt16BE(height, 1);
  data.writeUInt16BE(width, 3);
  return segment(marker, data);
};
const tables = segment(0xc4, Buffer.alloc(28));

// The lossy and the lossless beginning are those of pictures that Chromium wrote.
const webp = {
  lossy: inHex('52494646 38040000 57454250 56503820 4a020000 904300 9d012a e803 2d01'),
  lossless: inHex('52494646 00020000 57454250 5650384c 11000000 2f e7034b00 07d0fffef7bfff81'),
  extended: inHex('52494646 38040000 57454250 56503858 0a000000 20000000 e70300 2c0100'),
};

describe('the size of a picture', () => {
  it('is what a PNG says in its header', () => {
    expect(sizeOf(png(1000, 301))).toEqual({ width: 1000, height: 301 });
    expect(sizeOf(png(1, 70_000))).toEqual({ width: 1, height: 70_000 });
  });

  it('is what a GIF says, in the order of bytes of its kind', () => {
    for (const version of ['GIF87a', 'GIF89a'])
      expect(sizeOf(Buffer.from(version), inHex('e803 2d01'), pixels)).toEqual({ width: 1000, height: 301 });
  });

  it.each(Object.entries(webp))('is what a %s WebP says', (_kind, head) => {
    expect(sizeOf(head, pixels)).toEqual({ width: 1000, height: 301 });
  });

  it('leaves out the scaling that stands in the same bytes of a WebP', () => {
    const scaled = Buffer.from(webp.lossy);
    scaled.writeUInt16LE(0x4000 + 1000, 26);
    scaled.writeUInt16LE(0x8000 + 301, 28);
    expect(sizeOf(scaled, pixels)).toEqual({ width: 1000, height: 301 });
  });

  it.each([0xc0, 0xc1, 0xc2])('is what a JPEG says in its frame, of marker %d', (marker) => {
    expect(sizeOf(jpegStart, profile(14), tables, frame(marker, 1000, 301), pixels)).toEqual({
      width: 1000,
      height: 301,
    });
  });

  it('is found behind the pictures, profiles and tables that a JPEG of a camera begins with', () => {
    for (const extra of [0, 1, 2]) {
      const before = [60_000 + extra, 65_000, 65_533, 30_000, 0].map(profile);
      const jpeg = [jpegStart, ...before, tables, inHex('ffff'), frame(0xc0, 4000, 3000), pixels];
      expect(sizeOf(...jpeg)).toEqual({ width: 4000, height: 3000 });
    }
  });

  it.each<[string, Buffer[]]>([
    ['nothing', []],
    ['no picture', [Buffer.from('Hello, this is a text and no picture at all.')]],
    ['a picture without a width', [png(0, 301, 1)]],
    ['a picture without a height', [png(1000, 0, 1)]],
    ['a PNG that is cut off', [png(1000, 301).subarray(0, 20)]],
    ['a WebP of an unknown kind', [webp.lossy.subarray(0, 12), Buffer.from('VP9 '), pixels]],
    ['another file of its container', [Buffer.from('RIFF\x10\0\0\0AVI VP8 '), pixels]],
    ['the beginning of a JPEG', [jpegStart]],
    ['a JPEG that is cut off in its frame', [jpegStart, frame(0xc0, 1000, 301).subarray(0, 8)]],
    ['a JPEG that is cut off before its frame', [jpegStart, profile(60_000).subarray(0, 40_000)]],
    ['a JPEG whose height comes later', [jpegStart, frame(0xc0, 1000, 0), pixels]],
    ['a JPEG with pixels before its frame', [jpegStart, segment(0xda, pixels), frame(0xc0, 1000, 301)]],
    ['a JPEG with a segment that is shorter than its length', [jpegStart, inHex('ffe2 0000'), pixels]],
    ['a JPEG with something between its segments', [jpegStart, profile(9), pixels, frame(0xc0, 1000, 301)]],
  ])('of %s is not known', (_what, bytes) => {
    expect(sizeOf(...bytes)).toBeUndefined();
  });

  it('takes the words of a header for what they are, however large', () => {
    const huge = png(4_294_967_295, 4_294_967_295, 0);
    expect(sizeOf(huge)).toEqual({ width: 4_294_967_295, height: 4_294_967_295 });
  });

  it('decodes little of a picture, whatever it holds', () => {
    const large = Buffer.alloc(3_000_000, 1);
    const hostile = [
      Buffer.concat([png(9, 9), large]),
      Buffer.concat([jpegStart, ...Array.from({ length: 2000 }, () => profile(1500))]),
      Buffer.concat([jpegStart, Buffer.alloc(3_000_000, inHex('ffe20002'))]),
      Buffer.concat([jpegStart, Buffer.alloc(3_000_000, 0xff)]),
    ].map((bytes) => bytes.toString('base64'));
    const decode = vi.spyOn(Buffer, 'from');
    for (const data of hostile) {
      decode.mockClear();
      pictureSize(data);
      const letters = decode.mock.calls.map(([slice]) => String(slice).length);
      expect(letters.reduce((sum, each) => sum + each, 0)).toBeLessThan(45_000);
    }
  });

  it('never throws', () => {
    const head = fc.constantFrom(
      '',
      '\x89PNG\r\n\x1a\n',
      'GIF89a',
      'RIFF....WEBPVP8 ',
      '\xff\xd8\xff',
      '\xff\xd8\xff\xe0',
    );
    const bytes = fc.tuple(head, fc.uint8Array({ maxLength: 60 }));
    fc.assert(
      fc.property(bytes, fc.nat(5), ([start, rest], cut) => {
        const data = Buffer.concat([Buffer.from(start, 'latin1'), rest]).toString('base64');
        pictureSize(data.slice(0, data.length - cut));
      }),
    );
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (data) => void pictureSize(data)));
  });
});
