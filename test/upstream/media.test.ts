import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Format, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1');
const pdf = Buffer.from('%PDF-1.7 and the rest');
const signature = 'signature=not-for-anyone';

/** The single body that a server of each dialect answers. */
const answers: Record<Format, object> = {
  openai: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'seen' }, finish_reason: 'stop' }],
  },
  anthropic: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'seen' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  gemini: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'seen' }] }, finishReason: 'STOP' }],
  },
};

/** A picture and a document by URL, as the clients of each format write them. */
const requests: Record<Format, (model: string, picture: string, document: string) => [string, object]> = {
  openai: (model, picture) => [
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: picture } }] }] },
  ],
  anthropic: (model, picture, document) => [
    '/v1/messages',
    {
      model,
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'url', url: picture } },
            { type: 'document', source: { type: 'url', url: document } },
          ],
        },
      ],
    },
  ],
  gemini: (model, picture, document) => [
    `/v1beta/models/${model}:generateContent`,
    {
      contents: [
        {
          role: 'user',
          parts: [
            { fileData: { fileUri: picture, mimeType: 'image/png' } },
            { fileData: { fileUri: document, mimeType: 'application/pdf' } },
          ],
        },
      ],
    },
  ],
};

/** How the picture and the document look to a server of each dialect. */
const seenBy: Record<Format, [picture: object, document: object]> = {
  openai: [
    { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
    {
      type: 'file',
      file: { file_data: `data:application/pdf;base64,${pdf.toString('base64')}`, filename: 'file' },
    },
  ],
  anthropic: [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf.toString('base64') },
    },
  ],
  gemini: [
    { inlineData: { mimeType: 'image/png', data: png.toString('base64') } },
    { inlineData: { mimeType: 'application/pdf', data: pdf.toString('base64') } },
  ],
};

const servers: Server[] = [];
async function open(answer: (request: IncomingMessage) => Promise<[type: string, body: string | Buffer]>) {
  const server = createServer((request, response) => {
    void answer(request).then(([type, body]) => response.writeHead(200, { 'content-type': type }).end(body));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Body {
  messages?: { content: object[] }[];
  contents?: { parts: object[] }[];
}
const bodies: Body[] = [];
const fetched: string[] = [];
let filesUrl: string;
let gateway: Gateway;

beforeAll(async () => {
  filesUrl = await open(async ({ url = '' }) => {
    fetched.push(url);
    return url.startsWith('/a.pdf') ? ['application/pdf', pdf] : ['image/png', png];
  });
  const upstreams = await Promise.all(
    formats.map(async (dialect) => {
      const baseUrl = await open(async (request) => {
        // Not validated: a missing field shows as undefined in the assertion.
        if (request.method === 'POST') bodies.push((await json(request)) as Body);
        return ['application/json', JSON.stringify(answers[dialect])];
      });
      return { dialect, baseUrl: dialect === 'openai' ? `${baseUrl}/v1` : baseUrl };
    }),
  );
  const media = { allowHttp: true, ports: [Number(new URL(filesUrl).port)], internal: ['127.0.0.1'] };
  const pools = upstreams.flatMap(({ dialect, baseUrl }) => {
    const backend = { engine: 'upstream', dialect, baseUrl, slots: 4 };
    return [
      [dialect, { backend: { ...backend, media: { ...media, fetch: 'always' } } }],
      [`${dialect}-guarded`, { backend: { ...backend, media: { ...media, fetch: 'always', internal: [] } } }],
      [`${dialect}-off`, { backend }],
    ];
  });
  gateway = await startGateway({
    settings: {
      pools: Object.fromEntries(pools),
      models: Object.fromEntries(pools.map(([name]) => [name, { pool: name }])),
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function send(format: Format, model: string) {
  bodies.length = 0;
  fetched.length = 0;
  const place = (name: string) => `${filesUrl}/${name}?${signature}`;
  const [path, body] = requests[format](model, place('a.png'), place('a.pdf'));
  const response = await fetch(gateway.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const parts = bodies.flatMap((seen) => seen.messages?.[0]?.content ?? seen.contents?.[0]?.parts ?? []);
  return { status: response.status, text, parts };
}

const pairs = formats.flatMap((client) => formats.map((dialect) => ({ client, dialect })));

describe('pictures and documents by URL', () => {
  it.each(pairs)('of a $client client reach a $dialect server as data', async ({ client, dialect }) => {
    const { status, text, parts } = await send(client, dialect);
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('seen') });
    // A chat client has no place for a document by URL.
    expect(parts).toEqual(client === 'openai' ? seenBy[dialect].slice(0, 1) : seenBy[dialect]);
    expect(JSON.stringify(bodies)).not.toContain(signature);
    expect(fetched).toHaveLength(parts.length);
  });

  it.each(pairs)(
    'of a $client client to a $dialect server are not fetched from inside: 400, by path and not by URL',
    async ({ client, dialect }) => {
      const { status, text } = await send(client, `${dialect}-guarded`);
      expect(status).toBe(400);
      const place = {
        openai: 'messages[0].content',
        anthropic: 'messages[0].content',
        gemini: 'contents[0].parts',
      };
      expect(text).toContain(`${place[client]}[`);
      expect(text).toMatch(/\[[01]\]: the URL cannot be fetched/);
      expect(text).not.toContain(signature);
      expect(text).not.toContain('127.0.0.1');
      expect({ fetched, bodies }).toEqual({ fetched: [], bodies: [] });
    },
  );

  it.each(formats)(
    'of a %s client are passed on to a server of its own dialect by default',
    async (format) => {
      const { status } = await send(format, `${format}-off`);
      expect(status).toBe(200);
      expect(JSON.stringify(bodies)).toContain(signature);
      expect(fetched).toEqual([]);
    },
  );

  it('are counted by the worker, by how it ended', async () => {
    const opsPort = gateway.workers[0]?.ready.workers?.[0]?.opsPort;
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    // By now every pair was served once and refused once.
    expect(text).toMatch(/^sluice_media_fetches_total\{outcome="ok"\} 15$/m);
    expect(text).toMatch(/^sluice_media_fetches_total\{outcome="refused"\} [1-9]\d*$/m);
    expect(text).toMatch(/^sluice_media_fetch_duration_seconds_count [1-9]\d*$/m);
  });
});
