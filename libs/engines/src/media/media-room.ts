import type { InferenceRequest } from '@sluice/canonical';
import type { Turns } from '@sluice/runtime';
import type { MediaFetcher } from './fetch-media.ts';
import { inlineMedia, type Reference, type WholeRequest } from './inline-media.ts';
import type { MediaOptions } from './media-options.ts';

/** What files are fetched with. */
export interface MediaMeans {
  fetcher: Pick<MediaFetcher, 'fetch'>;
  limits: Pick<MediaOptions, 'maxBytes' | 'maxPerRequest' | 'maxRequestBytes'>;
  /** Memory for files, in bytes. */
  room: Turns;
}

/** The files of one request. */
interface Files {
  request: InferenceRequest;
  references: readonly Reference[];
  means: MediaMeans;
  /** What they take of the room. */
  hold: Hold;
}

/**
 * Fetches the files of a request and runs `work` with them, unless the signal has aborted. Until `work` ends, they take
 * room: what their servers announce, before they are read, and then what they have. Throws as `inlineMedia` and `work`
 * do.
 *
 * If there is less room left than is announced, the request gives back all of its own, waits for the most that its files
 * may have, and fetches them anew. Requests that waited with some of their files could wait for each other for ever.
 */
export async function withMedia(
  request: InferenceRequest,
  references: readonly Reference[],
  means: MediaMeans,
  signal: AbortSignal,
  work: (whole: InferenceRequest) => Promise<void>,
): Promise<void> {
  const hold = new Hold(means.room);
  const files: Files = { request, references, means, hold };
  try {
    const whole = (await fetchAtOnce(files, signal)) ?? (await fetchInTurn(files, signal));
    if (!whole) return;
    hold.shrinkTo(whole.fileBytes);
    if (!signal.aborted) await work(whole.request);
  } finally {
    hold.shrinkTo(0);
  }
}

/** Absent if there was no room for a file. */
async function fetchAtOnce(
  { request, references, means, hold }: Files,
  signal: AbortSignal,
): Promise<WholeRequest | undefined> {
  if (means.room.hasLine) return undefined;
  const crowded = new AbortController();
  const admit = (bytes: number) => {
    if (hold.grow(bytes)) return true;
    crowded.abort();
    return false;
  };
  const either = AbortSignal.any([signal, crowded.signal]);
  try {
    return await inlineMedia(request, references, means.fetcher, means.limits, either, admit);
  } catch (thrown) {
    if (!crowded.signal.aborted) throw thrown;
    hold.shrinkTo(0);
    return undefined;
  }
}

/** Absent if the signal aborted first. */
async function fetchInTurn(
  { request, references, means, hold }: Files,
  signal: AbortSignal,
): Promise<WholeRequest | undefined> {
  const { maxBytes, maxRequestBytes } = means.limits;
  const most = Math.min(references.length * maxBytes, maxRequestBytes);
  if (!(await hold.wait(signal, most))) return undefined;
  return inlineMedia(request, references, means.fetcher, means.limits, signal);
}

/** What one request takes of a room. */
class Hold {
  private readonly room: Turns;
  private bytes = 0;

  constructor(room: Turns) {
    this.room = room;
  }

  /** False if there is too little room now. */
  grow(bytes: number): boolean {
    if (!this.room.beginAtOnce(bytes)) return false;
    this.bytes += bytes;
    return true;
  }

  /** False if the signal aborted first. */
  async wait(signal: AbortSignal, bytes: number): Promise<boolean> {
    if (!(await this.room.begin(signal, bytes))) return false;
    this.bytes += bytes;
    return true;
  }

  shrinkTo(bytes: number): void {
    this.room.end(this.bytes - bytes);
    this.bytes = bytes;
  }
}
