import {
  assertNever,
  type InferenceRequest,
  type MediaPart,
  type Message,
  SluiceError,
} from '@sluice/canonical';
import type { MediaReference, ReferenceHandling } from '@sluice/formats';
import { type MediaFetch, type MediaFetcher, tooLargeTogether } from './fetch-media.ts';
import type { MediaOptions } from './media-options.ts';

/** A part to fetch, with the canonical path of its source in the request. */
export interface Reference {
  part: MediaPart;
  path: string;
  url: string;
}

const wanted: Readonly<Record<MediaOptions['fetch'], ReadonlySet<ReferenceHandling>>> = {
  never: new Set(),
  'when-needed': new Set<ReferenceHandling>(['perhaps-read', 'refused']),
  always: new Set<ReferenceHandling>(['read', 'perhaps-read', 'refused']),
};

/** The parts of a request that must be fetched for a server whose dialect `judge` judges. */
export function findReferences(
  request: InferenceRequest,
  fetch: MediaOptions['fetch'],
  judge: (media: MediaReference) => ReferenceHandling,
): Reference[] {
  if (fetch === 'never') return [];
  const found: Reference[] = [];
  const visit = (parts: Message['content'], path: string): void => {
    for (const [index, part] of parts.entries()) {
      const place = `${path}[${index}]`;
      if (part.type === 'tool-result') visit(part.content, `${place}.content`);
      if (part.type !== 'media' || part.source.type !== 'url') continue;
      const { url } = part.source;
      const handling = judge({ mediaType: part.mediaType, url });
      if (wanted[fetch].has(handling)) found.push({ part, path: `${place}.source`, url });
    }
  };
  for (const [index, message] of request.messages.entries()) {
    visit(message.content, `messages[${index}].content`);
  }
  return found;
}

/** A request, and the bytes of the files that were put into it. */
export interface WholeRequest {
  request: InferenceRequest;
  fileBytes: number;
}

/**
 * The request with fetched files in place of their URLs. A URL that occurs twice is fetched once, but its file counts
 * twice, as it is sent. The first failure ends the other fetches. Throws `invalid-request` with the path of the part
 * and never its URL, or `unavailable` if the fetcher was closed. `admit` is asked before each file is read; if it
 * returns false, everything stops as if the fetcher was closed.
 */
export async function inlineMedia(
  request: InferenceRequest,
  references: readonly Reference[],
  fetcher: Pick<MediaFetcher, 'fetch'>,
  { maxPerRequest, maxRequestBytes }: Pick<MediaOptions, 'maxPerRequest' | 'maxRequestBytes'>,
  signal: AbortSignal,
  admit: (bytes: number) => boolean = () => true,
): Promise<WholeRequest> {
  const firsts = new Map<string, Reference & { uses: number }>();
  for (const reference of references) {
    const key = keyOf(reference);
    const first = firsts.get(key);
    if (first) first.uses += 1;
    else firsts.set(key, { ...reference, uses: 1 });
    if (firsts.size > maxPerRequest) {
      throw unfit(reference.path, `a request may hold ${maxPerRequest} files by URL`);
    }
  }
  const budget = { bytes: maxRequestBytes };
  const failing = new AbortController();
  const either = AbortSignal.any([signal, failing.signal]);
  const fetched = new Map<string, Fetched>();
  let failure: SluiceError | undefined;
  const fetches = [...firsts].map(async ([key, { part, path, url, uses }]) => {
    const result = await fetcher.fetch({
      url,
      mediaType: part.mediaType,
      budget,
      admit: (bytes) => admit(bytes * uses),
      signal: either,
    });
    if (result.outcome === 'ok') {
      fetched.set(key, result);
      return;
    }
    failure ??= errorOf(path, result);
    failing.abort();
  });
  await Promise.all(fetches);
  if (failure) throw failure;
  const files = new Map<MediaPart, Fetched>();
  let fileBytes = 0;
  for (const reference of references) {
    const file = fetched.get(keyOf(reference));
    if (!file) continue;
    files.set(reference.part, file);
    fileBytes += Buffer.byteLength(file.data, 'base64');
    if (fileBytes > maxRequestBytes) throw unfit(reference.path, tooLargeTogether(maxRequestBytes));
  }
  return { request: withFiles(request, files), fileBytes };
}

type Fetched = Extract<MediaFetch, { outcome: 'ok' }>;

/** The type is part of the key: the same bytes may be wanted as an image and as a document. */
function keyOf({ part, url }: Reference): string {
  return `${part.mediaType} ${url}`;
}

function errorOf(path: string, { outcome, fact }: Exclude<MediaFetch, Fetched>): SluiceError {
  return outcome === 'stopped'
    ? new SluiceError('unavailable', 'the backend was stopped before a file of the request was fetched')
    : unfit(path, fact);
}

function unfit(path: string, fact: string): SluiceError {
  return new SluiceError('invalid-request', `${path}: ${fact}`, { param: path });
}

function withFiles(request: InferenceRequest, files: ReadonlyMap<MediaPart, Fetched>): InferenceRequest {
  const fill = <Part extends { type: string }>(part: Part | MediaPart): Part | MediaPart => {
    const file = isMedia(part) ? files.get(part) : undefined;
    if (!file || !isMedia(part)) return part;
    return { ...part, mediaType: file.mediaType, source: { type: 'base64', data: file.data } };
  };
  const messages = request.messages.map((message): Message => {
    switch (message.role) {
      case 'system':
        return message;
      case 'user':
        return { ...message, content: message.content.map(fill) };
      case 'assistant':
        return { ...message, content: message.content.map(fill) };
      case 'tool':
        return {
          ...message,
          content: message.content.map((result) => ({ ...result, content: result.content.map(fill) })),
        };
      default:
        return assertNever(message);
    }
  });
  return { ...request, messages };
}

function isMedia(part: { type: string }): part is MediaPart {
  return part.type === 'media';
}
