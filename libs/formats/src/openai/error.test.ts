import type { ErrorKind } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { statusOf } from '../status.ts';
import { decodeError, decodeInBandError, encodeError, encodeErrorBody } from './error.ts';

describe('encodeError', () => {
  test('names type, code and param in the words of the dialect', () => {
    expect(encodeError({ kind: 'invalid-request', message: 'n: too large', param: 'n' })).toEqual({
      status: 400,
      headers: {},
      body: { error: { message: 'n: too large', type: 'invalid_request_error', param: 'n', code: null } },
    });
  });

  test.each([
    ['not-found', 'model-not-found', 404, 'model_not_found'],
    ['invalid-request', 'context-length-exceeded', 400, 'context_length_exceeded'],
    ['invalid-request', 'invalid-json', 400, 'invalid_json'],
    ['unavailable', 'worker-lost', 503, 'service_unavailable'],
  ] as const)('%s with %s is %i %s', (kind, detail, status, code) => {
    expect(encodeError({ kind, detail, message: 'x' })).toMatchObject({ status, body: { error: { code } } });
  });

  test('tells clients when to come again and when not to', () => {
    expect(encodeError({ kind: 'saturated', message: 'x', retryAfterMs: 2500 }).headers).toEqual({
      'retry-after': '3',
    });
    expect(encodeError({ kind: 'unauthenticated', message: 'x' }).headers).toEqual({
      'x-should-retry': 'false',
    });
  });

  const kinds = Object.keys(statusOf) as ErrorKind[];
  test.each(kinds.filter((kind) => kind !== 'internal'))(
    '%s survives the wire in the middle of a stream',
    (kind) => {
      expect(decodeInBandError(encodeErrorBody({ kind, message: 'x' }))?.kind).toBe(kind);
    },
  );
});

describe('decodeError', () => {
  test('the status tells the kind where the body says nothing', () => {
    expect(decodeError(503, {}, undefined)).toEqual({
      kind: 'unavailable',
      message: 'the upstream answered with status 503',
    });
  });

  test.each([
    ['the object of the dialect', { error: { message: 'no', type: 't', param: 'n', code: null } }, 'no'],
    ['the bare object of vLLM', { object: 'error', message: 'no', code: 400 }, 'no'],
    ['a string', { error: 'no' }, 'no'],
    ["FastAPI's detail", { detail: 'no' }, 'no'],
    ['plain text', 'no', 'no'],
    ['something else', { detail: [{ loc: [] }] }, 'the upstream answered with status 400'],
  ])('reads %s', (_name, body, message) => {
    expect(decodeError(400, {}, body)).toMatchObject({ kind: 'invalid-request', message });
  });

  test('a code says more than the status', () => {
    const withCode = (code: string) => ({ error: { message: 'x', code } });
    expect(decodeError(429, {}, withCode('insufficient_quota')).kind).toBe('budget-exhausted');
    expect(decodeError(400, {}, withCode('context_length_exceeded')).detail).toBe('context-length-exceeded');
    expect(decodeError(404, {}, withCode('model_not_found')).detail).toBe('model-not-found');
  });

  test('knows an overlong prompt by the words that servers use for it', () => {
    const body = { message: "This model's maximum context length is 4096 tokens.", code: 400 };
    expect(decodeError(400, {}, body)).toMatchObject({
      kind: 'invalid-request',
      detail: 'context-length-exceeded',
    });
  });

  test('does not pass on what a server says about its credential', () => {
    const body = { error: { message: 'Incorrect API key provided: sk-proj-1234', code: 'invalid_api_key' } };
    expect(JSON.stringify(decodeError(401, {}, body))).not.toContain('sk-');
  });

  test('caps messages', () => {
    expect(decodeError(500, {}, 'x'.repeat(9000)).message).toHaveLength(500);
  });

  test('keeps what the headers advise', () => {
    expect(decodeError(429, { 'retry-after': '7' }, {})).toMatchObject({
      kind: 'rate-limited',
      retryAfterMs: 7000,
    });
  });
});

test('a type that is no word of the dialect is an upstream failure', () => {
  expect(decodeInBandError({ error: { message: 'x', type: 'constructor' } })?.kind).toBe('upstream-failed');
});

test('a chunk without an error holds none', () => {
  expect(decodeInBandError({ choices: [], error: null })).toBeUndefined();
  expect(decodeInBandError(null)).toBeUndefined();
});
