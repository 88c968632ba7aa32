import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

/** Servers of the three dialects, which are never called: what can't be said to them is refused before. */
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(404).end();
});
let gateway: Gateway;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dialects = ['openai', 'anthropic', 'gemini'];
  const pool = (dialect: string) => [dialect, { backend: { engine: 'upstream', dialect, baseUrl } }];
  const model = (dialect: string) => [dialect, { pool: dialect, maxOutputTokens: 100 }];
  gateway = await startGateway({
    settings: {
      pools: Object.fromEntries(dialects.map(pool)),
      models: Object.fromEntries(dialects.map(model)),
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  server.close();
});

const hello = { role: 'user', content: 'Hello' };
const chat = (...messages: object[]) => ({
  messages: [hello, { role: 'assistant', content: 'a' }, ...messages],
});
const said = (...content: object[]) => ({ messages: [hello, { role: 'user', content }] });
const parts = (...list: object[]) => ({
  contents: [
    { role: 'user', parts: [{ text: 'Hello' }] },
    { role: 'user', parts: list },
  ],
});
const called = { functionResponse: { name: 'f', id: 'c', response: { output: 'a' } } };
const film = { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } };
const pdf = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } };

const refusals: [format: string, dialect: string, body: object, place: string][] = [
  ['gemini', 'anthropic', parts(called, { text: 'b' }, film), 'contents[1].parts[2]'],
  ['gemini', 'openai', parts({ executableCode: { language: 'PYTHON', code: '1' } }), 'contents[1].parts[0]'],
  ['gemini', 'anthropic', { ...parts({ text: 'b' }), cachedContent: 'cachedContents/1' }, 'cachedContent'],
  ['gemini', 'openai', { ...parts({ text: 'b' }), tools: [{ googleSearch: {} }] }, 'tools[0]'],
  [
    'gemini',
    'anthropic',
    { ...parts({ text: 'b' }), generationConfig: { frequencyPenalty: 1 } },
    'generationConfig.frequencyPenalty',
  ],
  [
    'gemini',
    'anthropic',
    { ...parts({ text: 'b' }), generationConfig: { responseLogprobs: true } },
    'generationConfig.responseLogprobs',
  ],
  [
    'openai',
    'anthropic',
    chat(
      { role: 'tool', tool_call_id: 'c', content: 'a' },
      { role: 'tool', tool_call_id: 'd', content: 'a' },
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] },
    ),
    'messages[4].content[0]',
  ],
  ['openai', 'anthropic', { ...chat(hello), presence_penalty: 1 }, 'presence_penalty'],
  ['openai', 'gemini', chat({ role: 'tool', tool_call_id: 'c', content: 'a' }), 'tool_call_id'],
  ['anthropic', 'gemini', said({ type: 'tool_result', tool_use_id: 'c', content: 'a' }), 'tool_use_id'],
  [
    'anthropic',
    'openai',
    {
      system: 'Be brief.',
      ...said({ type: 'tool_result', tool_use_id: 'c', content: [pdf] }, { type: 'text', text: 'b' }),
    },
    'messages[1].content[0].content[0]',
  ],
  [
    'anthropic',
    'gemini',
    { ...said({ type: 'text', text: 'a' }), tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    'tools[0]',
  ],
];

interface Refused {
  error: { message: string; param?: string; details?: { fieldViolations?: { field: string }[] }[] };
}

it.each(refusals)(
  'a client of %s with a server of %s is told its own place of %j: %s',
  async (...refusal) => {
    const [format, model, body, place] = refusal;
    for (const stream of [false, true]) {
      const action = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      const path = { openai: '/v1/chat/completions', anthropic: '/v1/messages' }[format];
      const response = await fetch(gateway.baseUrl + (path ?? `/v1beta/models/${model}:${action}`), {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(format === 'gemini' ? body : { model, max_tokens: 9, stream, ...body }),
      });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as Refused;
      expect(error.message.startsWith(`${place}: `), error.message).toBe(true);
      if (format === 'openai') expect(error.param).toBe(place);
      if (format === 'gemini') expect(error.details?.[0]?.fieldViolations?.[0]?.field).toBe(place);
    }
  },
);
