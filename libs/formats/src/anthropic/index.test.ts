import { SluiceError } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import type { PublicModel, Query } from '../codec.ts';
import { anthropic } from './index.ts';

const { client, server } = anthropic;
const models: PublicModel[] = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, displayName: id, createdAt: 0 }));

describe('the list of models', () => {
  const list = (query: Query) => {
    // Safe to cast: the body is ours, and the golden case compares its shape.
    const page = server.encodeModelList(models, query) as { data: { id: string }[]; has_more: boolean };
    return [page.data.map(({ id }) => id).join(''), page.has_more];
  };

  test('shows a model with every key', () => {
    const model = {
      id: 'q',
      displayName: 'Q',
      createdAt: Date.UTC(2026, 0, 2),
      contextTokens: 9,
      maxOutputTokens: 8,
    };
    expect(server.encodeModel(model)).toEqual({
      type: 'model',
      id: 'q',
      display_name: 'Q',
      created_at: '2026-01-02T00:00:00Z',
      max_input_tokens: 9,
      max_tokens: 8,
      capabilities: null,
      lifecycle: 'active',
      line: null,
      deprecated_at: null,
      retires_at: null,
    });
  });

  test('is paged forwards and backwards', () => {
    expect(list({})).toEqual(['abcde', false]);
    expect(list({ limit: '2' })).toEqual(['ab', true]);
    expect(list({ limit: '2', after_id: 'b' })).toEqual(['cd', true]);
    expect(list({ limit: '2', after_id: 'd' })).toEqual(['e', false]);
    expect(list({ limit: '2', before_id: 'd' })).toEqual(['bc', true]);
    expect(list({ limit: '2', before_id: 'b' })).toEqual(['a', false]);
    expect(list({ limit: '1000' })).toEqual(['abcde', false]);
    expect(list({ lifecycle: 'retired' })).toEqual(['', false]);
  });

  test('may be empty', () => {
    const empty = { data: [], has_more: false, first_id: null, last_id: null };
    expect(server.encodeModelList([], {})).toEqual(empty);
  });

  test.each([
    { limit: '0' },
    { limit: '1001' },
    { limit: 'x' },
    { after_id: 'z' },
    { after_id: 'a', before_id: 'b' },
  ])('refuses %j', (query) => {
    expect(() => server.encodeModelList(models, query)).toThrow(SluiceError);
  });
});

test.each([
  [true, '/v1/models', { 'anthropic-version': '2026-10-21' }],
  [true, '/v1/models', { 'provider-version': '2023-06-01' }],
  [true, '/v1/models', { 'x-api-key': 'sk-1' }],
  [true, '/v1/models', { 'user-agent': 'claude-cli/2.1.329 (external, cli)' }],
  [true, '/v1/messages/batches', {}],
  [false, '/v1/models', { 'x-api-key': '', authorization: 'Bearer sk-1' }],
  [false, '/v1/messagesque', {}],
])('a caller is recognized (%s) on %s with %j', (isOurs, path, headers) => {
  expect(server.recognizes({ path, headers, query: {} })).toBe(isOurs);
});

test('a count of tokens tells beta clients about their edits', () => {
  const call = { stream: false, model: 'm', choices: 1, requestId: 'r' };
  expect(server.encodeTokenCount?.(7, { ...call, wire: {} })).toEqual({ input_tokens: 7 });
  expect(server.encodeTokenCount?.(7, { ...call, wire: { beta: true } })).toEqual({
    input_tokens: 7,
    context_management: null,
  });
  expect(server.encodeTokenCount?.(7, { ...call, wire: { beta: true, contextManagement: true } })).toEqual({
    input_tokens: 7,
    context_management: { original_input_tokens: 7 },
  });
});

test('a server gets the version, and the credential if there is one', () => {
  expect(client.authorize('sk-1')).toEqual({ 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-1' });
  expect(client.authorize(undefined)).toEqual({ 'anthropic-version': '2023-06-01' });
});
