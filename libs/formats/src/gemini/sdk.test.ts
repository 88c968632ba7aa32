import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, type FunctionCall, GoogleGenAI } from '@google/genai';
import { type GenerativeModel, GoogleGenerativeAI } from '@google/generative-ai';
import { collect, errorInfoOf, type GenerationEvent, type InferenceRequest } from '@sluice/canonical';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ClientCall } from '../codec.ts';
import { gemini } from './index.ts';

/*
 * The official SDK against a socket that answers with this codec. The answer to a call is a script of events,
 * one list per choice.
 */

const { server: codec } = gemini;
let server: Server;
let client: GoogleGenAI;
/** By the SDK before the present one, which is still widely used. */
let older: GenerativeModel;
let script: GenerationEvent[][] = [];
let seen: InferenceRequest[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    answer(request, response).catch((thrown: unknown) => {
      const { status, headers, body } = codec.encodeError(errorInfoOf(thrown), { requestId: 'r' });
      response
        .writeHead(status, { ...headers, 'content-type': 'application/json' })
        .end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Safe to cast: a server that listens on TCP has an address object.
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  client = new GoogleGenAI({ apiKey: 'sk-test', httpOptions: { baseUrl } });
  older = new GoogleGenerativeAI('sk-test').getGenerativeModel({ model: 'm' }, { baseUrl });
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  seen = [];
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', 'http://ingress');
  const http = { path: url.pathname, headers: request.headers, query: Object.fromEntries(url.searchParams) };
  expect(codec.recognizes(http)).toBe(true);
  if (request.method === 'GET') {
    const models = ['a', 'b', 'org/c:v1'].map((id) => ({ id, displayName: id.toUpperCase(), createdAt: 0 }));
    const one = models.find(({ id }) => http.path.endsWith(`/models/${id}`));
    sendJson(response, one ? codec.encodeModel(one) : codec.encodeModelList(models, http.query));
    return;
  }
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const body: unknown = JSON.parse(Buffer.concat(pieces).toString());
  const decoded = codec.decodeRequest({ ...http, requestId: 'r', body });
  seen.push(decoded.request);
  if (decoded.operation === 'count-tokens') sendJson(response, codec.encodeTokenCount?.(9, decoded.call));
  else if (decoded.call.stream) sendStream(response, decoded.call);
  else sendJson(response, codec.encodeResponse(script.map(collect), decoded.call));
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendStream(response: ServerResponse, call: ClientCall): void {
  const encoder = codec.createStreamEncoder(call);
  response.writeHead(200, { 'content-type': encoder.contentType });
  for (const [choice, events] of script.entries()) {
    for (const event of events) response.write(encoder.keepAlive() + encoder.push(event, choice));
  }
  response.end();
}

const start: GenerationEvent = { type: 'start', id: 'g1', model: 'm', createdAt: 0, inputTokens: 9 };
const finish = (reason: 'stop' | 'tool-calls'): GenerationEvent => ({
  type: 'finish',
  reason,
  usage: { inputTokens: 9, outputTokens: 5, reasoningTokens: 2 },
});
const hello: GenerationEvent[] = [
  start,
  { type: 'reasoning-delta', block: 0, text: 'A greeting.' },
  { type: 'text-delta', block: 1, text: 'Hel' },
  { type: 'text-delta', block: 1, text: 'lo 🌍' },
  finish('stop'),
];
const calls: GenerationEvent[] = [
  start,
  {
    type: 'tool-call-start',
    block: 0,
    id: 'call_a',
    name: 'get_weather',
    extensions: { gemini: { thoughtSignature: 'c2ln' } },
  },
  { type: 'tool-call-delta', block: 0, arguments: '{"city":' },
  { type: 'tool-call-delta', block: 0, arguments: '"Oslo"}' },
  { type: 'tool-call-end', block: 0 },
  { type: 'tool-call-start', block: 1, id: 'call_b', name: 'get_time' },
  { type: 'tool-call-end', block: 1 },
  finish('tool-calls'),
];
const functionDeclarations = [{ name: 'get_weather' }, { name: 'get_time' }];

test('a single answer has its text, its usage and the model as the client wrote it', async () => {
  script = [hello];
  const response = await client.models.generateContent({ model: 'org/m:v1', contents: 'Hi.' });
  expect(response.text).toBe('Hello 🌍');
  expect(response.modelVersion).toBe('org/m:v1');
  expect(response.responseId).toBe('g1');
  expect(response.usageMetadata).toMatchObject({
    promptTokenCount: 9,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
    totalTokenCount: 14,
  });
});

test('only a client that asks for thoughts gets them', async () => {
  script = [hello];
  const config = { thinkingConfig: { includeThoughts: true } };
  const asked = await client.models.generateContent({ model: 'm', contents: 'Hi.', config });
  expect(asked.candidates?.[0]?.content?.parts?.[0]).toEqual({ text: 'A greeting.', thought: true });
  const silent = await client.models.generateContent({ model: 'm', contents: 'Hi.' });
  expect(silent.candidates?.[0]?.content?.parts).toEqual([{ text: 'Hello 🌍' }]);
});

test('a stream with keep-alives between its events adds up to the answer', async () => {
  script = [hello];
  const chunks = [];
  for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'Hi.' }))
    chunks.push(chunk);
  expect(chunks.map((chunk) => chunk.text ?? '').join('')).toBe('Hello 🌍');
  expect(chunks.map((chunk) => chunk.candidates?.[0]?.finishReason).filter(Boolean)).toEqual(['STOP']);
  expect(chunks.at(-1)?.usageMetadata?.totalTokenCount).toBe(14);
  expect(chunks[0]?.usageMetadata?.promptTokenCount).toBe(9);
});

test('calls are whole in a stream, and answered in the next turn of a chat', async () => {
  script = [calls];
  const chat = client.chats.create({ model: 'm', config: { tools: [{ functionDeclarations }] } });
  const called: FunctionCall[] = [];
  for await (const chunk of await chat.sendMessageStream({ message: 'Weather?' }))
    called.push(...(chunk.functionCalls ?? []));
  expect(called).toEqual([
    { id: 'call_a', name: 'get_weather', args: { city: 'Oslo' } },
    { id: 'call_b', name: 'get_time', args: {} },
  ]);
  script = [hello];
  const results = called.map(({ id = '', name = '' }) => ({
    functionResponse: { id, name, response: { output: 'fine' } },
  }));
  const last = await chat.sendMessage({ message: results });
  expect(last.text).toBe('Hello 🌍');
  expect(seen[1]?.messages.slice(1)).toEqual([
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          id: 'call_a',
          name: 'get_weather',
          arguments: '{"city":"Oslo"}',
          extensions: { gemini: { thoughtSignature: 'c2ln' } },
        },
        { type: 'tool-call', id: 'call_b', name: 'get_time', arguments: '{}' },
      ],
    },
    {
      role: 'tool',
      content: called.map(({ id, name }) => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: name,
        content: [{ type: 'text', text: 'fine' }],
      })),
    },
  ]);
});

test('a chat replays a streamed answer as one message', async () => {
  script = [hello];
  const chat = client.chats.create({ model: 'm' });
  for await (const _chunk of await chat.sendMessageStream({ message: 'Hi.' }));
  await chat.sendMessage({ message: 'Again.' });
  expect(seen[1]?.messages[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello 🌍' }] });
});

test('several candidates come in their order', async () => {
  script = [hello, [start, { type: 'text-delta', block: 0, text: 'Hey' }, finish('stop')]];
  const response = await client.models.generateContent({
    model: 'm',
    contents: 'Hi.',
    config: { candidateCount: 2 },
  });
  expect(response.candidates?.map(({ content }) => content?.parts?.[0]?.text)).toEqual(['Hello 🌍', 'Hey']);
  expect(response.usageMetadata?.candidatesTokenCount).toBe(6);
});

test('a refused request is an ApiError with its status', async () => {
  const call = client.models.generateContent({ model: 'm', contents: 'Hi.', config: { candidateCount: 9 } });
  await expect(call).rejects.toThrow(ApiError);
  await expect(call).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('candidateCount'),
  });
});

test('a stream that fails midway throws with the status of the failure', async () => {
  script = [
    [
      start,
      { type: 'text-delta', block: 0, text: 'Hel' },
      { type: 'error', error: { kind: 'unavailable', message: 'gone' } },
    ],
  ];
  const texts: (string | undefined)[] = [];
  const read = async () => {
    for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'Hi.' }))
      texts.push(chunk.text);
  };
  await expect(read()).rejects.toMatchObject({ status: 503 });
  expect(texts).toEqual(['Hel']);
});

test('tokens are counted', async () => {
  const { totalTokens } = await client.models.countTokens({ model: 'm', contents: 'Hi.' });
  expect(totalTokens).toBe(9);
});

test('models are listed page by page and shown one by one', async () => {
  const names = [];
  for await (const model of await client.models.list({ config: { pageSize: 2 } })) names.push(model.name);
  expect(names).toEqual(['models/a', 'models/b', 'models/org/c:v1']);
  expect(await client.models.get({ model: 'a' })).toMatchObject({ name: 'models/a', displayName: 'A' });
});

test('chats of the older SDK keep a streamed answer, signed or not', async () => {
  const signature: GenerationEvent = {
    type: 'block-annotation',
    block: 1,
    extensions: { gemini: { thoughtSignature: 'c2ln' } },
  };
  for (const events of [hello, [...hello.slice(0, -1), signature, finish('stop')]]) {
    script = [events];
    const chat = older.startChat();
    const { stream, response } = await chat.sendMessageStream('Hi.');
    for await (const _chunk of stream);
    await response;
    await expect.poll(() => chat.getHistory()).toHaveLength(2);
  }
});
