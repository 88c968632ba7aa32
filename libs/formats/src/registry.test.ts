import { describe, expect, test } from 'vitest';
import type { HttpFacts, ServerCodec } from './codec.ts';
import { findClientCodec, formats, recognizeFormat, serverCodecs } from './registry.ts';

const http = (path: string, headers: HttpFacts['headers'] = {}, query: HttpFacts['query'] = {}) => ({
  path,
  headers,
  query,
});

describe('recognizeFormat', () => {
  test.each<[string, string, HttpFacts]>([
    ['everybody on a v1beta path', 'gemini', http('/v1beta/models')],
    ['a Google key', 'gemini', http('/v1/models', { 'x-goog-api-key': 'k' })],
    ['a neutral key', 'gemini', http('/v1/models', { 'x-provider-api-key': 'k' })],
    ['the Google SDK', 'gemini', http('/v1/models', { 'x-goog-api-client': 'google-genai-sdk/3.1.0' })],
    [
      'the Google SDK by its user agent',
      'gemini',
      http('/v1/models', { 'user-agent': 'google-genai-sdk/3.1.0' }),
    ],
    ['the Gemini CLI', 'gemini', http('/v1/models', { 'user-agent': 'GeminiCLI-tui/0.61.0/m' })],
    ['a key in the query', 'gemini', http('/v1/models', {}, { key: 'k' })],
    ['an anthropic-version', 'anthropic', http('/v1/models', { 'anthropic-version': '2023-06-01' })],
    ['a neutral version', 'anthropic', http('/v1/models', { 'provider-version': '2023-06-01' })],
    ['an x-api-key', 'anthropic', http('/v1/models', { 'x-api-key': 'k' })],
    ['the Anthropic SDK', 'anthropic', http('/nowhere', { 'user-agent': 'Anthropic/JS 1.11.0' })],
    ['Claude Code', 'anthropic', http('/nowhere', { 'user-agent': 'claude-cli/2.1.329 (external, cli)' })],
    ['a bearer token alone', 'openai', http('/v1/models', { authorization: 'Bearer k' })],
    ['nothing at all', 'openai', http('/nowhere')],
  ])('takes %s as %s', (_name, format, facts) => {
    expect(recognizeFormat(facts).format).toBe(format);
  });
});

test('both halves of a format have the same name, and no two formats share it', () => {
  for (const { client, server } of formats) expect(client.format).toBe(server.format);
  expect(new Set(serverCodecs.map(({ format }) => format)).size).toBe(formats.length);
});

test.each(serverCodecs)('whoever asks at a path of $format alone is taken to speak it', (codec) => {
  const pathsOf = ({ routes, modelRoutes }: ServerCodec) => [...routes, ...modelRoutes];
  const others = new Set(serverCodecs.filter((other) => other !== codec).flatMap(pathsOf));
  const own = pathsOf(codec).filter((path) => !path.endsWith('*') && !others.has(path));
  expect(own).not.toEqual([]);
  expect(own.filter((path) => recognizeFormat(http(path)) !== codec)).toEqual([]);
});

test('no two formats answer the same call', () => {
  const routes = serverCodecs.flatMap((codec) => codec.routes);
  expect(new Set(routes).size).toBe(routes.length);
});

test.each([
  ['openai', '/v1/chat/completions', false],
  ['anthropic', '/v1/messages', false],
  ['anthropic', '/v1/messages/count_tokens', true],
  ['gemini', '/v1beta/models/m:countTokens', true],
  ['gemini', '/v1beta/models/m:streamGenerateContent', false],
  ['gemini', '/v1beta/models/m:nothing', false],
])('%s knows for %s before the body whether it counts tokens', (format, path, counts) => {
  expect(serverCodecs.find((codec) => codec.format === format)?.countsTokens(path)).toBe(counts);
});

test.each(serverCodecs)('$format can tell a count of tokens if a call can ask it for one', (codec) => {
  const canAsk = codec.routes.some((route) => codec.countsTokens(route.replace('*', 'm:countTokens')));
  expect(codec.encodeTokenCount !== undefined).toBe(canAsk);
});

test.each([
  ['/v1beta/models/org/name:v1:generateContent', true],
  ['/v1/models/m:countTokens', true],
  ['/v1beta/models/org/name:v1', false],
  ['/v1/models/m', false],
])('%s can only be a call: %s', (path, expected) => {
  expect(serverCodecs.some((codec) => codec.isCall(path))).toBe(expected);
});

test.each(formats)(
  '$client.format gives all requests without headers of their own the same object',
  ({ client }) => {
    const [one, other] = ['one', 'other'].map((text) =>
      client.encodeRequest(
        { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text }] }], sampling: {} },
        { model: 'm', stream: true, maxOutputTokens: 9 },
      ),
    );
    expect(one?.headers).toBeDefined();
    expect(one?.headers).toBe(other?.headers);
  },
);

test('an upstream dialect is found by its name', () => {
  expect(findClientCodec('openai')?.format).toBe('openai');
  expect(findClientCodec('morse')).toBeUndefined();
});
