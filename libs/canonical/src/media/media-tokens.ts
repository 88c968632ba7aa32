import type { MediaPart } from '../request.ts';
import { byteLengthOf } from './base64-bytes.ts';
import { pdfPages } from './pdf-pages.ts';
import { type PictureSize, pictureSize } from './picture-size.ts';

/** Claude's rule for pictures, which lies between those of GPT and Gemini. Larger ones are scaled down first. */
const pixelsPerToken = 750;
const longestEdge = 1568;
const mostPerPicture = 1600;
/** What GPT takes for a picture at the least, and for one of low detail. */
const leastPerPicture = 85;
/** A picture whose size is not known: about 1024 × 768. */
const tokensPerPicture = 1000;

/** A page as text and picture. Gemini takes less, Claude more. */
const tokensPerPage = 1500;
const bytesPerPage = 65_536;
/** The most pages that vendors read. */
const mostPages = 1000;
/** Of a guess by bytes. A scan has few pages of many bytes, and a prompt that seems too long cuts its answer short. */
const mostGuessedPages = 50;
/** A file that is not in the request: about three pages. */
const tokensPerFile = 3 * tokensPerPage;

/** Bytes that stand for one token: Gemini's tokens per second, and a usual bit rate. */
const bytesPerToken = {
  /** 128 kbit/s, 32 tokens. */
  sound: 500,
  /** 24 kHz of 16 bits, 32 tokens. */
  plainSound: 1500,
  /** 2 Mbit/s, 300 tokens, or 100 of low detail. */
  video: 833,
  coarseVideo: 2500,
} as const;
const plainSound = /^audio\/(?:(?:x-|vnd\.)?wave?|pcm|pcm16|l16|(?:x-)?aiff|(?:x-)?flac)(?:;|$)/i;

/**
 * Estimates the tokens of a picture, document, sound or other file, at least 1, by what its beginning and its length
 * tell of it. A picture costs one for 750 pixels, once it is scaled to at most 1568 on its longer side, from 85 to 1600,
 * or 85 if its `detail` is low; a page of a document 1500; sound and video by their bytes, and a video of low detail a
 * third of that. By URL or file id: a picture 1000, any other file 4500. Never throws, and its work does not depend on
 * how much there is of a file.
 */
export function mediaTokens({ mediaType, source, detail }: MediaPart): number {
  const isPicture = /^image\//i.test(mediaType);
  if (isPicture && detail === 'low') return leastPerPicture;
  if (source.type !== 'base64') return isPicture ? tokensPerPicture : tokensPerFile;
  const { data } = source;
  const perToken = soundOrVideo(mediaType, detail);
  if (perToken) return Math.max(1, Math.ceil(byteLengthOf(data) / perToken));
  // Clients often name no type, or a wrong one.
  const size = pictureSize(data);
  if (size) return pictureTokens(size);
  return isPicture ? tokensPerPicture : documentTokens(data);
}

function soundOrVideo(mediaType: string, detail: MediaPart['detail']): number | undefined {
  if (/^video\//i.test(mediaType)) return detail === 'low' ? bytesPerToken.coarseVideo : bytesPerToken.video;
  if (!/^audio\//i.test(mediaType)) return undefined;
  return plainSound.test(mediaType) ? bytesPerToken.plainSound : bytesPerToken.sound;
}

function pictureTokens({ width, height }: PictureSize): number {
  const scale = Math.min(1, longestEdge / Math.max(width, height));
  const tokens = Math.ceil((width * scale * (height * scale)) / pixelsPerToken);
  return Math.min(mostPerPicture, Math.max(leastPerPicture, tokens));
}

function documentTokens(data: string): number {
  const guess = Math.min(mostGuessedPages, Math.max(1, Math.ceil(byteLengthOf(data) / bytesPerPage)));
  return tokensPerPage * Math.min(mostPages, pdfPages(data) || guess);
}
