import { describe, expect, it } from 'vitest';
import type { MediaPart } from '../request.ts';
import { mediaTokens } from './media-tokens.ts';

const tokensOf = (mediaType: string, source: MediaPart['source']) =>
  mediaTokens({ type: 'media', mediaType, source });
const tokensOfBytes = (mediaType: string, bytes: Buffer) =>
  tokensOf(mediaType, { type: 'base64', data: bytes.toString('base64') });

const gif = (width: number, height: number) => {
  const bytes = Buffer.alloc(40);
  bytes.write('GIF89a');
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
};
const pdf = (pages: number, length = 0) =>
  Buffer.from(`%PDF-1.4\n1 0 obj<</Type/Pages/Count ${pages}>>endobj\n${' '.repeat(length)}`);

describe('the tokens of media', () => {
  it.each([
    [1000, 750, 1000],
    [1024, 1024, 1399],
    // Scaled to 1568 × 490, and to no more than vendors take for the largest.
    [3136, 980, 1025],
    [1500, 1500, 1600],
    [65_535, 65_535, 1600],
    // An icon, and what is hardly one.
    [32, 32, 85],
    [65_535, 1, 85],
  ])('of a picture of %d × %d are %d', (width, height, tokens) => {
    expect(tokensOfBytes('image/gif', gif(width, height))).toBe(tokens);
    expect(tokensOfBytes('image/gif', gif(height, width))).toBe(tokens);
  });

  it('are those of what the bytes are, if the type is another or none', () => {
    expect(tokensOfBytes('image/png', gif(1000, 750))).toBe(1000);
    expect(tokensOfBytes('application/octet-stream', gif(1024, 1024))).toBe(1399);
    expect(tokensOfBytes('application/octet-stream', pdf(7))).toBe(7 * 1500);
  });

  it('of a picture that we cannot read are those of one of ordinary size', () => {
    expect(tokensOfBytes('image/heic', Buffer.alloc(500_000))).toBe(1000);
    expect(tokensOfBytes('image/png', Buffer.alloc(0))).toBe(1000);
  });

  it('of a picture of low detail are the least that a picture has', () => {
    const url = { type: 'url', url: 'https://files.example/a' } as const;
    expect(mediaTokens({ type: 'media', mediaType: 'image/*', source: url, detail: 'low' })).toBe(85);
    const source = { type: 'base64', data: gif(1000, 750).toString('base64') } as const;
    expect(mediaTokens({ type: 'media', mediaType: 'image/gif', source, detail: 'low' })).toBe(85);
    expect(mediaTokens({ type: 'media', mediaType: 'application/pdf', source: url, detail: 'low' })).toBe(
      4500,
    );
  });

  it('of a document go by its pages, and those by its bytes where it does not tell them', () => {
    expect(tokensOfBytes('application/pdf', pdf(7))).toBe(7 * 1500);
    expect(tokensOfBytes('application/pdf', pdf(7, 1_000_000))).toBe(7 * 1500);
    expect(tokensOfBytes('application/pdf', pdf(999_999))).toBe(1000 * 1500);
    expect(tokensOfBytes('application/pdf', pdf(0))).toBe(1500);
    expect(tokensOfBytes('application/pdf', pdf(0, 190_000))).toBe(3 * 1500);
    expect(tokensOfBytes('application/msword', Buffer.alloc(190_000))).toBe(3 * 1500);
    expect(tokensOfBytes('application/pdf', pdf(0, 7_000_000))).toBe(50 * 1500);
  });

  it('of sound and video go by how long they probably are', () => {
    const minute = 60;
    expect(tokensOfBytes('audio/mpeg', Buffer.alloc(16_000 * minute))).toBe(32 * minute);
    expect(tokensOfBytes('audio/wav', Buffer.alloc(48_000 * minute))).toBe(32 * minute);
    expect(tokensOfBytes('audio/L16;rate=24000', Buffer.alloc(48_000 * minute))).toBe(32 * minute);
    const video = tokensOfBytes('video/mp4', Buffer.alloc(250_000 * minute));
    expect(video / (300 * minute)).toBeCloseTo(1, 2);
    const source = { type: 'base64', data: Buffer.alloc(250_000 * minute).toString('base64') } as const;
    const coarse = mediaTokens({ type: 'media', mediaType: 'video/mp4', source, detail: 'low' });
    expect(coarse).toBe(100 * minute);
    expect(tokensOfBytes('audio/wav', Buffer.alloc(0))).toBe(1);
  });

  it('of what is not in the request are the same for all of its kind', () => {
    for (const source of [
      { type: 'url', url: 'https://files.example/a' } as const,
      { type: 'file-id', id: 'a' } as const,
    ]) {
      expect(tokensOf('image/*', source)).toBe(1000);
      expect(tokensOf('application/pdf', source)).toBe(4500);
      expect(tokensOf('application/octet-stream', source)).toBe(4500);
    }
  });
});
