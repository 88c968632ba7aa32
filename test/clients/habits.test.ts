import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import { streamText } from 'ai';
import { GoogleGenAI as GoogleGenAI1 } from 'google-genai-1';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Format, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
let baseUrl: string;
let apiKey: string;
beforeAll(async () => {
  gateway = await startGateway({ environment: { SLUICE_KEEP_ALIVE_MS: '100' } });
  ({ baseUrl, apiKey } = gateway);
});
afterAll(() => gateway.stop());

/** Silent for so long that keep-alives must come: before the first token, and between tokens. */
const prompt = '[[sim tokens=2 seed=7 ttft=450ms gap=450ms]]';
const text = referenceText(7, 0, 2);

const readers: Record<string, () => Promise<string>> = {
  async 'the chat completions SDK'() {
    const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey });
    const stream = client.chat.completions.stream({
      model: 'sim',
      messages: [{ role: 'user', content: prompt }],
    });
    return (await stream.finalContent()) ?? '';
  },
  async 'the messages SDK'() {
    const client = new Anthropic({ baseURL: baseUrl, apiKey });
    const messages = [{ role: 'user' as const, content: prompt }];
    return client.messages.stream({ model: 'sim', max_tokens: 9, messages }).finalText();
  },
  async 'the generate-content SDK'() {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
    return joinTexts(await client.models.generateContentStream({ model: 'sim', contents: prompt }));
  },
  async 'the older generate-content SDK'() {
    const client = new GoogleGenAI1({ apiKey, httpOptions: { baseUrl } });
    return joinTexts(await client.models.generateContentStream({ model: 'sim', contents: prompt }));
  },
  async 'LangChain over generate content'() {
    const model = new ChatGoogleGenerativeAI({ model: 'sim', apiKey, baseUrl, maxRetries: 0 });
    return joinTexts(await model.stream(prompt));
  },
  async 'the AI SDK over chat completions'() {
    const model = createOpenAICompatible({ name: 'sluice', baseURL: `${baseUrl}/v1`, apiKey })('sim');
    return streamText({ model, prompt }).text;
  },
  async 'the AI SDK over messages'() {
    const model = createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey })('sim');
    return streamText({ model, prompt, maxOutputTokens: 9 }).text;
  },
  async 'the AI SDK over generate content'() {
    const model = createGoogleGenerativeAI({ baseURL: `${baseUrl}/v1beta`, apiKey })('sim');
    return streamText({ model, prompt }).text;
  },
};

async function joinTexts(chunks: AsyncIterable<{ text?: string | undefined }>): Promise<string> {
  let joined = '';
  for await (const chunk of chunks) joined += chunk.text ?? '';
  return joined;
}

describe('keep-alives', () => {
  it.concurrent.each(Object.keys(readers))('do not disturb %s', async (name) => {
    expect(await readers[name]?.()).toBe(text);
  });

  const streams: Record<Format, { path: string; body: object; sign: RegExp }> = {
    openai: {
      path: '/v1/chat/completions',
      body: { model: 'sim', stream: true, messages: [{ role: 'user', content: prompt }] },
      sign: /^:/m,
    },
    anthropic: {
      path: '/v1/messages?beta=true',
      body: { model: 'sim', stream: true, max_tokens: 9, messages: [{ role: 'user', content: prompt }] },
      sign: /^event: ping$/m,
    },
    gemini: {
      path: '/v1beta/models/sim:streamGenerateContent?alt=sse',
      body: { contents: [{ parts: [{ text: prompt }] }] },
      // Blanks before the JSON of the first token.
      sign: /^data: {2,}\{/,
    },
  };
  const read = async (path: string, body: object) => {
    const response = await fetch(baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-provider-api-key': apiKey },
      body: JSON.stringify(body),
    });
    return { contentType: response.headers.get('content-type'), text: await response.text() };
  };

  it.concurrent.each(formats)('are there in a stream of %s', async (format) => {
    const { path, body, sign } = streams[format];
    const answer = await read(path, body);
    expect(answer.contentType).toMatch(/^text\/event-stream/);
    expect(answer.text).toMatch(sign);
  });

  it.concurrent('leave the array that a stream is without alt=sse in one piece', async () => {
    const answer = await read('/v1beta/models/sim:streamGenerateContent', streams.gemini.body);
    expect(answer.contentType).toBe('application/json');
    const parts = JSON.parse(answer.text).flatMap(
      (chunk: { candidates: { content?: { parts?: { text?: string }[] } }[] }) =>
        chunk.candidates[0]?.content?.parts?.map((part) => part.text ?? '') ?? [],
    );
    expect(parts.join('')).toBe(text);
  });
});

describe('a key', () => {
  const status = async (headers: Record<string, string>, path = '/v1/models') =>
    (await fetch(baseUrl + path, { headers })).status;

  it('may stand wherever any of the clients puts it', async () => {
    expect(await status({ authorization: `Bearer ${apiKey}` })).toBe(200);
    expect(await status({ authorization: `bearer ${apiKey}` })).toBe(200);
    expect(await status({ 'x-api-key': apiKey })).toBe(200);
    expect(await status({ 'x-goog-api-key': apiKey })).toBe(200);
    expect(await status({ 'x-provider-api-key': apiKey })).toBe(200);
    expect(await status({}, `/v1beta/models?key=${apiKey}`)).toBe(200);
    expect(await status({})).toBe(401);
  });

  it('counts where a second one is empty or wrong', async () => {
    expect(await status({ authorization: 'Bearer sk-wrong', 'x-api-key': apiKey })).toBe(200);
    expect(await status({ authorization: `Bearer ${apiKey}`, 'x-api-key': 'sk-wrong' })).toBe(200);
    expect(await status({ authorization: `Bearer ${apiKey}`, 'x-goog-api-key': '' })).toBe(200);
    expect(await status({ authorization: 'Bearer sk-wrong', 'x-api-key': 'sk-wrong-too' })).toBe(401);
  });

  it('is never written into a log, wherever it stood', async () => {
    await status({}, `/v1beta/models?key=${apiKey}`);
    await status({}, `/v1/nothing?key=${apiKey}`);
    const { lines } = gateway.ingresses[0] ?? { lines: [] };
    expect(lines.join('\n')).not.toContain(apiKey);
  });
});

describe('a model list', () => {
  const list = async (headers: Record<string, string>, path = '/v1/models') => {
    const response = await fetch(baseUrl + path, {
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    });
    return Object.keys((await response.json()) as object);
  };

  it('has the shape of the client that asks', async () => {
    expect(await list({})).toContain('object');
    expect(await list({ 'user-agent': 'OpenAI/JS 7.55.0' })).toContain('object');
    expect(await list({ 'anthropic-version': '2026-10-21' })).toContain('has_more');
    expect(await list({ 'user-agent': 'claude-cli/2.1.329 (external, cli)' })).toContain('has_more');
    expect(await list({ 'x-goog-api-client': 'google-genai-sdk/3.1.0' })).toContain('models');
    expect(await list({}, '/v1beta/models')).toContain('models');
  });
});

describe('a probe', () => {
  it('of a coding client, without a key, is answered without a body', async () => {
    for (const path of ['/', '/api/hello']) {
      const response = await fetch(baseUrl + path, { method: 'HEAD' });
      expect([path, response.status, await response.text()]).toEqual([path, 200, '']);
    }
  });

  it('of a balancer is answered in words or in JSON', async () => {
    expect(await (await fetch(`${baseUrl}/livez`)).text()).toBe('ok');
    expect(await (await fetch(`${baseUrl}/readyz`)).json()).toMatchObject({ ready: true });
  });

  it('is no request: it is neither counted nor logged, however often a balancer asks', async () => {
    const lines = () => gateway.ingresses[0]?.lines ?? [];
    const count = () => gateway.metric('sluice_requests_total');
    /** Resolves when a request has been counted and logged, and with it all requests before. */
    const call = async () => {
      const { headers } = await fetch(`${baseUrl}/v1/models`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      await until(() => lines().some((line) => line.includes(headers.get('x-request-id') ?? '')));
    };
    await call();
    const before = await count();
    const probes = [
      await fetch(`${baseUrl}/livez`),
      await fetch(`${baseUrl}/readyz`),
      await fetch(`${baseUrl}/`, { method: 'HEAD' }),
      await fetch(`${baseUrl}/api/hello`, { method: 'HEAD' }),
    ];
    const ids = probes.map(({ headers }) => headers.get('x-request-id') ?? '');
    await call();
    expect(await count()).toBe(before + 1);
    expect(lines().filter((line) => ids.some((id) => line.includes(id)))).toEqual([]);
  });
});

describe('every answer', () => {
  it('has one request id under both of its names, well or not', async () => {
    for (const key of [apiKey, 'sk-wrong']) {
      for (const path of ['/v1/models', '/v1/models/nobody', '/nothing']) {
        const { headers } = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } });
        expect(headers.get('x-request-id')).toMatch(/^\w{8,}$/);
        expect(headers.get('request-id')).toBe(headers.get('x-request-id'));
        expect(headers.get('content-type')).toBe('application/json');
      }
    }
  });
});
