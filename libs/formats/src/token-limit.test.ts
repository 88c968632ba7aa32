import type { Json } from '@sluice/canonical';
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

  it.each([0, -1, 1.5])('is refused where it is %d', (limit) => {
    expect(() => limitOf(format, limit)).toThrow(/max_tokens|maxOutputTokens/);
  });
});

it('may be a text of any length in generate content', () => {
  const { path, body } = generate('9'.repeat(30));
  const server = formats.find(({ client }) => client.format === 'gemini')?.server;
  const decoded = server?.decodeRequest({ path, body, headers: {}, query: {}, requestId: 'r' });
  expect(decoded?.request.sampling.maxOutputTokens).toBe(2_147_483_647);
});
