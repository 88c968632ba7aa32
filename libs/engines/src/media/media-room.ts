import type { InferenceRequest } from '@sluice/canonical';
import type { MediaFetcher } from './fetch-media.ts';
import { inlineMedia, type Reference } from './inline-media.ts';
import type { MediaOptions } from './media-options.ts';
import type { Turns } from './turns.ts';

/** What files are fetched with. */
export interface MediaMeans {
  fetcher: MediaFetcher;
  limits: MediaOptions;
  /** Memory for files, in bytes. */
  room: Turns;
}

/**
 * Fetches the files of a request when there is room for the most that they may have, and runs `work` with them, unless
 * the signal has aborted. Until `work` ends, they take the room that they have. Throws as `inlineMedia` and `work` do.
 */
export async function withMedia(
  request: InferenceRequest,
  references: readonly Reference[],
  { fetcher, limits, room }: MediaMeans,
  signal: AbortSignal,
  work: (whole: InferenceRequest) => Promise<void>,
): Promise<void> {
  let held = Math.min(references.length * limits.maxBytes, limits.maxRequestBytes);
  if (!(await room.begin(signal, held))) return;
  try {
    const { request: whole, fileBytes } = await inlineMedia(request, references, fetcher, limits, signal);
    room.end(held - fileBytes);
    held = fileBytes;
    if (!signal.aborted) await work(whole);
  } finally {
    room.end(held);
  }
}
