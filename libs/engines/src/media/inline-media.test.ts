import { type InferenceRequest, type MediaPart, SluiceError } from '@sluice/canonical';
import { findClientCodec, type MediaReference } from '@sluice/formats';
import { describe, expect, it } from 'vitest';
import type { MediaFetch, MediaOrder } from './fetch-media.ts';
import { findReferences, inlineMedia } from './inline-media.ts';

const at = (url: string, mediaType = 'image/*'): MediaPart => ({
  type: 'media',
  mediaType,
  source: { type: 'url', url },
});
const request: InferenceRequest = {
  model: 'm',
  sampling: {},
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { ...at('https://a.example/1'), extensions: { openai: { image_url: { detail: 'low' } } } },
        at('https://a.example/doc', 'application/pdf'),
        { type: 'media', mediaType: 'image/png', source: { type: 'base64', data: 'AA==' } },
        { type: 'media', mediaType: 'image/png', source: { type: 'file-id', id: 'f' } },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool-call', id: 'c', name: 'n', arguments: '' }] },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c',
          content: [at('https://a.example/1'), at('https://a.example/2')],
        },
      ],
    },
  ],
};
const judgeOf = (dialect: string) => (media: MediaReference) =>
  findClientCodec(dialect)?.judgeReference(media) ?? 'refused';
const limits = { maxPerRequest: 10, maxRequestBytes: 100 };
const never = new AbortController().signal;

/** A fetcher that returns a file's URL as its data, except for failures. */
function createFetcher(failures: Record<string, MediaFetch> = {}) {
  const orders: MediaOrder[] = [];
  return {
    orders,
    fetch: async (order: MediaOrder): Promise<MediaFetch> => {
      orders.push(order);
      return failures[order.url] ?? { outcome: 'ok', mediaType: `got/${order.mediaType}`, data: order.url };
    },
  };
}

describe('the files that have to be fetched', () => {
  it.each([
    ['never', 'openai', []],
    ['when-needed', 'openai', ['messages[1].content[2].source']],
    ['when-needed', 'anthropic', []],
    [
      'when-needed',
      'gemini',
      [
        'messages[1].content[1].source',
        'messages[1].content[2].source',
        'messages[3].content[0].content[0].source',
        'messages[3].content[0].content[1].source',
      ],
    ],
    [
      'always',
      'anthropic',
      [
        'messages[1].content[1].source',
        'messages[1].content[2].source',
        'messages[3].content[0].content[0].source',
        'messages[3].content[0].content[1].source',
      ],
    ],
  ] as const)('%s for a server of %s are %j', (fetch, dialect, paths) => {
    const found = findReferences(request, fetch, judgeOf(dialect));
    expect(found.map(({ path }) => path)).toEqual(paths);
  });

  it('are never those that the server itself stores', () => {
    const url = 'https://generativelanguage.googleapis.com/v1beta/files/abc';
    const own: InferenceRequest = { ...request, messages: [{ role: 'user', content: [at(url)] }] };
    expect(findReferences(own, 'always', judgeOf('gemini'))).toEqual([]);
  });
});

describe('a request whose files were fetched', () => {
  const references = findReferences(request, 'always', judgeOf('openai'));

  it('holds their data and true type in place of their URLs, and everything else unchanged', async () => {
    const fetcher = createFetcher();
    const before = structuredClone(request);
    const { request: whole, fileBytes } = await inlineMedia(request, references, fetcher, limits, never);
    expect(request).toEqual(before);
    expect(fileBytes).toBe(
      Buffer.byteLength('https://a.example/1', 'base64') * 3 +
        Buffer.byteLength('https://a.example/doc', 'base64'),
    );
    const file = (url: string, mediaType = 'got/image/*') => ({
      type: 'media',
      mediaType,
      source: { type: 'base64', data: url },
    });
    expect(whole).toEqual({
      ...request,
      messages: [
        request.messages[0],
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { ...file('https://a.example/1'), extensions: { openai: { image_url: { detail: 'low' } } } },
            file('https://a.example/doc', 'got/application/pdf'),
            ...(request.messages[1]?.content.slice(3) ?? []),
          ],
        },
        request.messages[2],
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c',
              content: [file('https://a.example/1'), file('https://a.example/2')],
            },
          ],
        },
      ],
    });
    expect(fetcher.orders.map(({ url }) => url)).toEqual([
      'https://a.example/1',
      'https://a.example/doc',
      'https://a.example/2',
    ]);
    expect(new Set(fetcher.orders.map(({ budget }) => budget))).toEqual(new Set([{ bytes: 100 }]));
  });

  it('is refused with the path of the first that failed, without its URL, and the other fetches end', async () => {
    const fetcher = createFetcher({
      'https://a.example/2': { outcome: 'refused', fact: 'the URL cannot be fetched' },
    });
    const thrown = await inlineMedia(request, references, fetcher, limits, never).catch((error) => error);
    expect(thrown).toBeInstanceOf(SluiceError);
    expect(thrown.info).toEqual({
      kind: 'invalid-request',
      message: 'messages[3].content[0].content[1].source: the URL cannot be fetched',
      param: 'messages[3].content[0].content[1].source',
    });
    expect(fetcher.orders.every(({ signal }) => signal.aborted)).toBe(true);
  });

  it('is refused before any fetch if there are too many files', async () => {
    const fetcher = createFetcher();
    await expect(
      inlineMedia(request, references, fetcher, { ...limits, maxPerRequest: 2 }, never),
    ).rejects.toMatchObject({
      kind: 'invalid-request',
      message: 'messages[3].content[0].content[1].source: a request may hold 2 files by URL',
    });
    expect(fetcher.orders).toEqual([]);
    await inlineMedia(request, references, fetcher, { ...limits, maxPerRequest: 3 }, never);
  });

  it('is refused if its files are too large together, one as often as it occurs', async () => {
    const again = Array.from({ length: 8 }, () => at('https://a.example/1'));
    const repeating: InferenceRequest = { ...request, messages: [{ role: 'user', content: again }] };
    const found = findReferences(repeating, 'always', judgeOf('openai'));
    await expect(inlineMedia(repeating, found, createFetcher(), limits, never)).rejects.toMatchObject({
      kind: 'invalid-request',
      message: 'messages[0].content[7].source: the files of the request are larger than 100 bytes together',
    });
  });

  it('is unavailable when the backend stops', async () => {
    const fetcher = createFetcher({ 'https://a.example/2': { outcome: 'stopped', fact: 'x' } });
    await expect(inlineMedia(request, references, fetcher, limits, never)).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});
