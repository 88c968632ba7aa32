import Anthropic from '@anthropic-ai/sdk';
import {
  collect,
  type GenerationEvent,
  type InferenceRequest,
  isJsonObject,
  type JsonObject,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { anthropic } from './index.ts';

const start: GenerationEvent = { type: 'start', id: '01a', model: 'm', createdAt: 0, inputTokens: 9 };
const events: GenerationEvent[] = [
  start,
  { type: 'reasoning-delta', block: 0, text: 'Let me ' },
  { type: 'reasoning-delta', block: 0, text: 'see.' },
  { type: 'text-delta', block: 1, text: 'Looking ' },
  { type: 'text-delta', block: 1, text: '🌍 up.' },
  { type: 'tool-call-start', block: 2, id: 'call_1', name: 'get_weather' },
  { type: 'tool-call-delta', block: 2, arguments: '{"city":' },
  { type: 'tool-call-delta', block: 2, arguments: '"Oslo"}' },
  { type: 'tool-call-end', block: 2 },
  { type: 'tool-call-start', block: 3, id: 'call_2', name: 'get_time' },
  { type: 'tool-call-end', block: 3 },
  { type: 'finish', reason: 'tool-calls', usage: { inputTokens: 9, outputTokens: 14, cacheReadTokens: 4 } },
];

const params = {
  model: 'qwen-7b',
  max_tokens: 500,
  messages: [{ role: 'user' as const, content: 'Weather in Oslo?' }],
};

interface Exchange {
  client: Anthropic;
  /** What the server understood, in order. */
  requests: InferenceRequest[];
}

/** The SDK wired to our server codec: its requests are decoded, and its answers were encoded. */
function connect(answer: readonly GenerationEvent[], keepAlives = false): Exchange {
  const requests: InferenceRequest[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const body: unknown = JSON.parse(String(init?.body));
    const headers = Object.fromEntries(new Headers(init?.headers));
    const query = Object.fromEntries(url.searchParams);
    const wire = { path: url.pathname, headers, query, body, requestId: 'r1' };
    const { request, call, operation } = anthropic.server.decodeRequest(wire);
    requests.push(request);
    if (operation === 'count-tokens') return Response.json(anthropic.server.encodeTokenCount?.(42, call));
    if (!call.stream) return Response.json(anthropic.server.encodeResponse([collect(answer)], call));
    const encoder = anthropic.server.createStreamEncoder(call);
    let text = encoder.keepAlive();
    for (const event of answer) text += encoder.push(event, 0) + (keepAlives ? encoder.keepAlive() : '');
    return new Response(text, { headers: { 'content-type': encoder.contentType } });
  };
  const client = new Anthropic({ apiKey: 'sk-test', baseURL: 'http://gateway.test', fetch, maxRetries: 0 });
  return { client, requests };
}

/** Plain data: the SDK keeps lazily parsed inputs behind getters. */
function plain(value: unknown): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isJsonObject(copy) ? copy : {};
}

describe('the official SDK', () => {
  test('accumulates a stream to exactly the message that a single body holds', async () => {
    const streamed = await connect(events, true).client.messages.stream(params).finalMessage();
    const single = await connect(events).client.messages.create(params);
    const { usage: streamedUsage, ...message } = plain(streamed);
    const { usage, ...wanted } = plain(single);
    expect(message).toMatchObject(wanted);
    expect(streamedUsage).toEqual(usage);
    expect(streamed.content).toHaveLength(4);
    expect(streamed.content[1]).toMatchObject({ type: 'text', text: 'Looking 🌍 up.' });
    expect(plain(streamed.content[2])).toMatchObject({ type: 'tool_use', input: { city: 'Oslo' } });
    expect(plain(streamed.content[3])).toMatchObject({ type: 'tool_use', input: {} });
    expect(streamed.usage).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 14 });
  });

  test.each(['not json', '[1]', '"str"', '{"city":"Oslo","days":oops}', '{"city":"Os'])(
    'reads an object wherever a model wrote none: %s',
    async (text) => {
      const fragments = [...text].map(
        (char): GenerationEvent => ({ type: 'tool-call-delta', block: 0, arguments: char }),
      );
      const { client } = connect([
        start,
        { type: 'tool-call-start', block: 0, id: 'call_1', name: 'get_weather' },
        ...fragments,
        { type: 'tool-call-end', block: 0 },
        { type: 'finish', reason: 'tool-calls', usage: {} },
      ]);
      const { content } = await client.messages.stream(params).finalMessage();
      const [block] = content;
      const input: unknown = block?.type === 'tool_use' ? block.input : undefined;
      expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
    },
  );

  test('finds every key that its types demand', async () => {
    const message = await connect(events).client.messages.create(params);
    const keys = ['id', 'container', 'content', 'diagnostics', 'model', 'role', 'stop_details'];
    for (const key of [...keys, 'stop_reason', 'stop_sequence', 'type', 'usage'])
      expect(message).toHaveProperty(key);
    expect(Object.keys(message.usage).toSorted()).toEqual([
      'cache_creation',
      'cache_creation_input_tokens',
      'cache_read_input_tokens',
      'inference_geo',
      'input_tokens',
      'output_tokens',
      'output_tokens_details',
      'server_tool_use',
      'service_tier',
      'speed',
    ]);
  });

  test('can replay the answer it got', async () => {
    const { client, requests } = connect(events);
    const { content } = await client.messages.create(params);
    const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: 'rain' };
    await client.messages.create({
      ...params,
      messages: [...params.messages, { role: 'assistant', content }, { role: 'user', content: [result] }],
    });
    const [user, assistant, tool] = requests[1]?.messages ?? [];
    expect(user?.role).toBe('user');
    expect(assistant?.content).toMatchObject([
      { type: 'reasoning', text: 'Let me see.' },
      { type: 'text', text: 'Looking 🌍 up.' },
      { type: 'tool-call', id: 'call_1', arguments: '{"city":"Oslo"}' },
      { type: 'tool-call', id: 'call_2', arguments: '{}' },
    ]);
    expect(JSON.stringify(assistant)).not.toContain('signature');
    expect(tool).toEqual({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'call_1', content: [{ type: 'text', text: 'rain' }] }],
    });
  });

  test('throws what ends a stream early', async () => {
    const error: GenerationEvent = { type: 'error', error: { kind: 'unavailable', message: 'worker lost' } };
    const { client } = connect([start, { type: 'text-delta', block: 0, text: 'Hal' }, error]);
    const failure = await client.messages.stream(params).finalMessage().then(undefined, plain);
    expect(failure).toMatchObject({ error: { error: { type: 'overloaded_error', message: 'worker lost' } } });
  });

  test('counts tokens', async () => {
    const { model, messages } = params;
    expect(await connect(events).client.messages.countTokens({ model, messages })).toEqual({
      input_tokens: 42,
    });
  });
});
