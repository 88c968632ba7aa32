import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { InferenceRequest } from '@sluice/canonical';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../test-runs.ts';
import { quietServices } from '../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from './engine.ts';
import { upstreamOptions } from './options.ts';
import { ChatServer } from './test-chat-server.ts';

const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1');
const signature = 'signature=not-for-anyone';
const sendPng: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' }).end(png);
};

let chat: ChatServer;
let files: Server;
let answer: RequestListener;
let url: string;
let engine: UpstreamEngine | undefined;
const counted: string[] = [];

beforeEach(async () => {
  chat = await ChatServer.open();
  chat.answer = (response) => {
    const chunk = { choices: [{ index: 0, delta: { content: 'seen' }, finish_reason: 'stop' }] };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', ...chunk })}\n\ndata: [DONE]\n\n`,
    );
  };
  answer = sendPng;
  files = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(files, 'listening');
  url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/a.png?${signature}`;
  counted.length = 0;
});
afterEach(async () => {
  await engine?.stop();
  await chat.close();
  files.closeAllConnections();
  files.close();
});

function create(media: object): UpstreamEngine {
  const ports = [Number(new URL(url).port)];
  const options = upstreamOptions.parse({
    baseUrl: chat.baseUrl,
    media: { allowHttp: true, ports, ...media },
  });
  engine = createUpstreamEngine(options, {
    ...quietServices,
    onMediaFetched: (outcome) => void counted.push(outcome),
  });
  return engine;
}

const look = (mediaType = 'image/*'): InferenceRequest => ({
  ...askFor('look'),
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', content: [{ type: 'media', mediaType, source: { type: 'url', url } }] },
  ],
});
const reachable = { internal: ['127.0.0.1'] };
const imageSent = () => JSON.stringify(chat.seen.at(-1)?.body);

describe('an image by URL', () => {
  it('is passed on as it is by default', async () => {
    expect(textOf(await runOf(create(reachable), look()))).toBe('seen');
    expect(imageSent()).toContain(`{"url":"${url}"}`);
    expect(counted).toEqual([]);
  });

  it('is passed on if the dialect accepts it, and only what is needed is fetched', async () => {
    expect(textOf(await runOf(create({ ...reachable, fetch: 'when-needed' }), look()))).toBe('seen');
    expect(imageSent()).toContain(`{"url":"${url}"}`);
  });

  it('is fetched if all are, anew by every attempt', async () => {
    const fetching = create({ ...reachable, fetch: 'always' });
    for (const outcomes of [['ok'], ['ok', 'ok']]) {
      expect(textOf(await runOf(fetching, look()))).toBe('seen');
      expect(imageSent()).toContain(`{"url":"data:image/png;base64,${png.toString('base64')}"}`);
      expect(imageSent()).not.toContain(signature);
      expect(counted).toEqual(outcomes);
    }
  });

  it('that cannot be fetched is the request’s fault, reported by its path without its URL', async () => {
    for (const media of [{}, reachable]) {
      answer = (_request, response) => response.destroy();
      const events = await runOf(create({ ...media, fetch: 'always' }), look());
      expect(events).toEqual([
        {
          type: 'error',
          error: {
            kind: 'invalid-request',
            message: 'messages[1].content[0].source: the URL cannot be fetched',
            param: 'messages[1].content[0].source',
          },
          usage: { inputTokens: 0, outputTokens: 0 },
        },
      ]);
      await engine?.stop();
    }
    expect(counted).toEqual(['refused', 'unreachable']);
    expect(chat.seen).toEqual([]);
  });

  it('is not awaited after an abort, and the server is not asked', async () => {
    const aborting = new AbortController();
    answer = () => aborting.abort();
    const events = await runOf(create({ ...reachable, fetch: 'always' }), look(), {
      signal: aborting.signal,
    });
    expect(events).toEqual([]);
    expect(chat.seen).toEqual([]);
    expect(counted).toEqual(['stopped']);
  });

  it('is not fetched for a lost answer that cannot be continued', async () => {
    const resume = { content: [{ type: 'text' as const, text: 'half' }], outputTokens: 1 };
    const events = await runOf(create({ ...reachable, fetch: 'always' }), look(), { resume });
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'upstream-failed' } }]);
    expect(counted).toEqual([]);
  });

  it('is not awaited when the engine stops, which is reported', async () => {
    const stopping = create({ ...reachable, fetch: 'always' });
    answer = () => void stopping.stop();
    expect(await runOf(stopping, look())).toMatchObject([{ type: 'error', error: { kind: 'unavailable' } }]);
  });
});

describe('a document by URL that the dialect cannot express', () => {
  it('is refused if nothing may be fetched, and nothing was', async () => {
    const events = await runOf(create(reachable), look('application/pdf'));
    expect(events).toMatchObject([
      { type: 'error', error: { kind: 'invalid-request', param: 'messages[1].content[0].source' } },
    ]);
    expect(counted).toEqual([]);
  });

  it('is fetched if that is allowed when needed', async () => {
    answer = (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.7');
    const events = await runOf(create({ ...reachable, fetch: 'when-needed' }), look('application/pdf'));
    expect(textOf(events)).toBe('seen');
    const data = Buffer.from('%PDF-1.7').toString('base64');
    expect(imageSent()).toContain(`"file_data":"data:application/pdf;base64,${data}"`);
  });
});

describe('the options of media', () => {
  it('are checked, and each mistake is reported by its path', () => {
    const media = { fetch: 'sometimes', hosts: ['https://a'], ports: [0], maxBytes: 0, timeoutMS: 1 };
    const { error } = upstreamOptions.safeParse({ baseUrl: 'https://m.example', media });
    expect(error?.issues.map(({ path }) => path.join('.')).sort()).toEqual([
      'media',
      'media.fetch',
      'media.hosts.0',
      'media.maxBytes',
      'media.ports.0',
    ]);
  });
});
