import { bytesAt } from './base64-bytes.ts';

/** Width and height of a picture in pixels, each at least 1. */
export interface PictureSize {
  width: number;
  height: number;
}

/**
 * The size that the header of a PNG, JPEG, GIF or WebP in base64 names; absent for anything else, and where the header
 * is broken. Never throws. Its work is bounded by that of decoding 32 KiB, and by the length of the data.
 */
export function pictureSize(base64: string): PictureSize | undefined {
  const head = bytesAt(base64, 0, headBytes);
  const size = isJpeg(head) ? jpegSize(base64) : headSize(head);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

const signatures = { png: '\x89PNG\r\n\x1a\n', gif: /^GIF8[79]a/, webp: /^RIFF.{4}WEBP(VP8[ LX])/s } as const;
/** Up to the end of the size in those headers. */
const headBytes = 30;

function headSize(head: Buffer): PictureSize | undefined {
  if (head.length < headBytes) return undefined;
  const start = head.toString('latin1');
  if (start.startsWith(signatures.png))
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  if (signatures.gif.test(start)) return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  switch (signatures.webp.exec(start)?.[1]) {
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const sizes = head.readUInt32LE(21);
      return { width: (sizes & 0x3fff) + 1, height: ((sizes >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

function isJpeg(head: Buffer): boolean {
  return head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff;
}

/** As much of a JPEG as is decoded at once. Profiles and smaller pictures may precede its size. */
const windowBytes = 1024;
/** A JPEG whose size is not found in so many windows has none that we know. */
const mostWindows = 32;
/** Bytes of a segment up to the end of its picture's size. */
const frameBytes = 9;

/** Goes from segment to segment to that of the frame, and decodes those in between no further than to find the next. */
function jpegSize(base64: string): PictureSize | undefined {
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;
  let at = 2;
  for (let windows = 0; ; ) {
    if (at - windowAt + frameBytes > window.length) {
      if (windows === mostWindows) return undefined;
      windows += 1;
      window = bytesAt(base64, at, windowBytes);
      windowAt = at;
      if (window.length < frameBytes) return undefined;
    }
    const index = at - windowAt;
    if (window[index] !== 0xff) return undefined;
    const marker = window.readUInt8(index + 1);
    if (isFrame(marker))
      return { height: window.readUInt16BE(index + 5), width: window.readUInt16BE(index + 7) };
    if (marker === fill) {
      at += 1;
      continue;
    }
    const length = window.readUInt16BE(index + 2);
    // The size comes before the pixels, and a segment counts its own length.
    if (marker === startOfScan || length < 2) return undefined;
    at += 2 + length;
  }
}

const fill = 0xff;
const startOfScan = 0xda;
/** Markers between those of frames that mean something else: tables of codes, and an extension. */
const notFrames: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc]);

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && !notFrames.has(marker);
}
