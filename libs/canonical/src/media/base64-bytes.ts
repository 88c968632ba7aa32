/** Of base64, four letters stand for three bytes. */
const lettersPerGroup = 4;
const bytesPerGroup = 3;

/** How many bytes base64 data stands for, give or take its padding. */
export function byteLengthOf(base64: string): number {
  return Math.floor((base64.length * bytesPerGroup) / lettersPerGroup);
}

/**
 * At least `length` bytes from `offset`, or fewer if the data ends before. Decodes no more than these. In data with line
 * breaks only the bytes from 0 are the right ones.
 */
export function bytesAt(base64: string, offset: number, length: number): Buffer {
  const skipped = offset % bytesPerGroup;
  const start = ((offset - skipped) / bytesPerGroup) * lettersPerGroup;
  const letters = Math.ceil((skipped + length) / bytesPerGroup) * lettersPerGroup;
  return Buffer.from(base64.slice(start, start + letters), 'base64').subarray(skipped);
}
