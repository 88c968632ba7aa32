import type { Json, Usage } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { formats } from './registry.ts';

const user = { role: 'user', content: 'hi' };
const generate = (limit: Json) => ({
  path: '/v1beta/models/m:generateContent',
  body: { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: limit } },
});
const calls: Readonly<Record<string, (limit: Json) => { path: string; body: Json }>> = {
  openai: (limit) => ({
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [user], max_tokens: limit },
  }),
  anthropic: (limit) => ({ path: '/v1/messages', body: { model: 'm', messages: [user], max_tokens: limit } }),
  gemini: generate,
};

function limitOf(format: string, limit: Json): number | undefined {
  const server = formats.find(({ client }) => client.format === format)?.server;
  const call = calls[format]?.(limit);
  if (!server || !call) throw new Error(`no call for ${format}`);
  const { request } = server.decodeRequest({ ...call, headers: {}, query: {}, requestId: 'r' });
  return request.sampling.maxOutputTokens;
}

describe.each(Object.keys(calls))('a limit of the answer in the %s format', (format) => {
  it('is taken as it is', () => expect(limitOf(format, 32_000)).toBe(32_000));

  it.each([2 ** 53, 1e18, Number.MAX_VALUE, Number.POSITIVE_INFINITY])(
    'is not refused for being as large as %d',
    (limit) => expect(limitOf(format, limit)).toBe(2_147_483_647),
  );

  // Messages know an answer of no tokens, which only fills a cache.
  it.each([...(format === 'anthropic' ? [] : [0]), -2, 1.5])('is refused if it is %d', (limit) => {
    expect(() => limitOf(format, limit)).toThrow(/max_tokens|maxOutputTokens/);
  });
});

it('may be text of any length in generate content', () => {
  const { path, body } = generate('9'.repeat(30));
  const server = formats.find(({ client }) => client.format === 'gemini')?.server;
  const decoded = server?.decodeRequest({ path, body, headers: {}, query: {}, requestId: 'r' });
  expect(decoded?.request.sampling.maxOutputTokens).toBe(2_147_483_647);
});

/** A whole answer whose server reports 7 input tokens and this many output tokens. */
const answers: Readonly<Record<string, (written: Json) => Json>> = {
  openai: (completion_tokens) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens },
  }),
  anthropic: (output_tokens) => ({
    content: [{ type: 'text', text: 'a' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens },
  }),
  gemini: (candidatesTokenCount) => ({
    candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount },
  }),
};

function usageOf(format: string, written: Json): Usage | undefined {
  const client = formats.find((each) => each.client.format === format)?.client;
  const body = answers[format]?.(written) ?? null;
  const last = client?.decodeResponse(body, { id: 'r', createdAt: 0, model: 'm' }).at(-1);
  return last?.type === 'finish' ? last.usage : undefined;
}

describe.each(Object.keys(answers))("a server's count of tokens in the %s format", (format) => {
  it('is taken as it is', () => {
    expect(usageOf(format, 5)).toMatchObject({ inputTokens: 7, outputTokens: 5 });
  });

  // What a server in C gets when it subtracts 1 from 0 in 64 bits, and numbers beyond that.
  it.each([-1, 2 ** 64, Number.MAX_VALUE, Number.POSITIVE_INFINITY, 0.5])(
    'is no report where it is %d, and no harm to the answer',
    (written) => {
      const usage = usageOf(format, written);
      expect(usage).toMatchObject({ inputTokens: 7 });
      expect(usage).not.toHaveProperty('outputTokens');
    },
  );
});
