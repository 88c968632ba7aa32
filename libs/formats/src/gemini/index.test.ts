import { expect, test } from 'vitest';
import { gemini } from './index.ts';

const { server, client } = gemini;
const facts = { path: '/v1/models', headers: {}, query: {} };

test.each([
  { path: '/v1beta/models' },
  { path: '//v1beta/anything' },
  { path: '/v1/models/org/name:generateContent' },
  { headers: { 'x-goog-api-key': '' } },
  { headers: { 'x-provider-api-key': 'sk-1' } },
  { headers: { 'x-goog-api-client': 'google-genai-sdk/3.1.0' } },
  { headers: { 'user-agent': 'google-genai-sdk/3.1.0 gl-node/24' } },
  { headers: { 'user-agent': 'GeminiCLI-tui/0.61.0/m (linux)' } },
  { query: { key: 'sk-1' } },
])('a caller with %j speaks generate-content', (sign) => {
  expect(server.recognizes({ ...facts, ...sign })).toBe(true);
});

test.each([
  {},
  { headers: { authorization: 'Bearer sk-1' } },
  { headers: { 'x-api-key': 'sk-1', 'anthropic-version': '2023-06-01' } },
  { path: '/v1betamax' },
])('a caller with %j does not', (sign) => {
  expect(server.recognizes({ ...facts, ...sign })).toBe(false);
});

test('both API versions lead to the same actions and lists', () => {
  expect(server.routes).toEqual(expect.arrayContaining(['/v1beta/models/*', '/v1/models/*']));
  expect(server.modelRoutes).toEqual(['/v1beta/models', '/v1beta/models/*', '/v1/models', '/v1/models/*']);
});

test('a count names its modality only if the prompt is nothing but text', () => {
  const call = { stream: false, model: 'm', choices: 1, requestId: 'r', wire: { textOnly: true } };
  expect(server.encodeTokenCount?.(9, call)).toEqual({
    totalTokens: 9,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 9 }],
  });
  expect(server.encodeTokenCount?.(9, { ...call, wire: {} })).toEqual({ totalTokens: 9 });
});

test('an upstream gets its credential in the header of its dialect, if there is one', () => {
  expect(client.authorize('k')).toEqual({ 'x-goog-api-key': 'k' });
  expect(client.authorize(undefined)).toEqual({});
});
