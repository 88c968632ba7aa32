const signatures: readonly { at: number; bytes: string; type: string }[] = [
  { at: 0, bytes: '\x89PNG\r\n\x1a\n', type: 'image/png' },
  { at: 0, bytes: '\xff\xd8\xff', type: 'image/jpeg' },
  { at: 0, bytes: 'GIF87a', type: 'image/gif' },
  { at: 0, bytes: 'GIF89a', type: 'image/gif' },
  { at: 8, bytes: 'WEBP', type: 'image/webp' },
  { at: 4, bytes: 'ftypavif', type: 'image/avif' },
  { at: 4, bytes: 'ftypheic', type: 'image/heic' },
  { at: 4, bytes: 'ftypheix', type: 'image/heic' },
  { at: 4, bytes: 'ftypmif1', type: 'image/heif' },
  { at: 0, bytes: 'II*\0', type: 'image/tiff' },
  { at: 0, bytes: 'MM\0*', type: 'image/tiff' },
];

/** The media type of an image, judged by its first bytes. Absent: they are those of no known kind. */
export function imageTypeOf(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 16).toString('latin1');
  const found = signatures.find((signature) => head.startsWith(signature.bytes, signature.at));
  if (found?.type === 'image/webp' && !head.startsWith('RIFF')) return undefined;
  return found?.type;
}

/** As much base64 as holds the bytes that are looked at. */
const headLength = 24;

/**
 * The media type of base64 data. The type that is given for an image gives way to that of its bytes: many clients of
 * chat completions write `image/jpg`, or one type for all images, which OpenAI accepts and Claude and Gemini refuse.
 */
export function typeOfData(given: string, base64: string): string {
  if (!given.startsWith('image/')) return given;
  const found = imageTypeOf(Buffer.from(base64.slice(0, headLength), 'base64'));
  return found ?? (given === 'image/jpg' ? 'image/jpeg' : given);
}
