import type { ErrorKind } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { statusOf } from '../status.ts';
import { decodeError, decodeStreamError, encodeError, encodeErrorBody } from './error.ts';

const context = { requestId: 'r1' };
// Safe to cast: the table of statuses is total, so its keys are all kinds.
const kinds = Object.keys(statusOf) as ErrorKind[];

test.each(kinds)('%s has a numeric code that the SDK takes for a failure', (kind) => {
  const { status, body } = encodeError({ kind, message: 'x' }, context);
  expect(status).toBe(statusOf[kind]);
  expect(body).toMatchObject({
    error: { code: status, message: 'x', status: expect.stringMatching(/^[A-Z_]+$/) },
  });
  expect(status >= 400 && status < 600).toBe(true);
});

test('details name the field, the delay and the request', () => {
  const field = encodeError({ kind: 'invalid-request', message: 'bad', param: 'contents' }, context);
  expect(field.body).toMatchObject({
    error: {
      details: [
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'contents' }] },
        { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 'r1' },
      ],
    },
  });
  const busy = encodeError({ kind: 'saturated', message: 'busy', retryAfterMs: 6200 }, context);
  expect(busy.headers).toEqual({ 'retry-after': '7' });
  expect(busy.body).toMatchObject({ error: { details: [{ retryDelay: '7s' }, {}] } });
});

test('a prompt that is too long is reported in the words that clients look for, since there is no code for it', () => {
  const say = (message: string) =>
    encodeErrorBody({ kind: 'invalid-request', message, detail: 'context-length-exceeded' });
  expect(say('prompt is too long')).toMatchObject({
    error: {
      message: 'The input token count exceeds the maximum number of tokens allowed: prompt is too long',
    },
  });
  const known = 'The input token count (9) exceeds the maximum number of tokens allowed (8).';
  expect(say(known)).toMatchObject({ error: { message: known } });
});

describe('an upstream failure', () => {
  test('keeps its words and its delay', () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7.5s' }];
    const body = { error: { code: 429, message: 'Quota exceeded.', status: 'RESOURCE_EXHAUSTED', details } };
    const expected = { kind: 'rate-limited', message: 'Quota exceeded.', retryAfterMs: 7500 };
    expect(decodeError(429, {}, body)).toEqual(expected);
    expect(decodeError(429, {}, [body])).toEqual(expected);
  });

  test.each<[string, unknown]>([
    ['plain text', 'prompt is too long'],
    ['a text for an error', { error: 'prompt is too long' }],
    ['a bare object', { message: 'prompt is too long' }],
    ['FastAPI’s detail', { detail: 'prompt is too long' }],
    [
      'Cloudflare’s',
      { success: false, result: [], messages: [], error: [{ message: 'prompt is too long' }] },
    ],
  ])('in the shape of %s keeps its words', (_name, body) => {
    expect(decodeError(400, {}, body)).toEqual({
      kind: 'invalid-request',
      message: 'prompt is too long',
      detail: 'context-length-exceeded',
    });
  });

  test('of a wrong key is told from other bad requests', () => {
    const error = { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] };
    expect(decodeError(400, {}, { error }).kind).toBe('unauthenticated');
    // CLIProxyAPI and LiteLLM say the whole error of Google as text.
    const routed = { message: JSON.stringify({ error }), code: 400, status: 'Bad Request' };
    expect(decodeError(400, {}, { error: routed }).kind).toBe('unauthenticated');
  });

  test('of the place of the gateway is no mistake of the client', () => {
    const message = 'User location is not supported for the API use.';
    const error = { code: 400, message, status: 'FAILED_PRECONDITION' };
    expect(decodeError(400, {}, { error }).kind).toBe('permission-denied');
  });

  test('of a prompt that is too long or a model that does not exist says so', () => {
    const message = 'The input token count (40000) exceeds the maximum number of tokens allowed (32768).';
    expect(decodeError(400, {}, { error: { message } }).detail).toBe('context-length-exceeded');
    expect(decodeError(404, {}, { error: { message: 'models/x is not found' } }).detail).toBe(
      'model-not-found',
    );
  });

  test.each([
    [503, 'unavailable'],
    [500, 'upstream-failed'],
    [502, 'upstream-failed'],
    [418, 'invalid-request'],
    [499, 'upstream-failed'],
    [302, 'upstream-failed'],
  ])('of status %i without a word is %s', (status, kind) => {
    for (const body of ['', null, undefined, [], {}, { error: { message: 7, details: 1 } }]) {
      expect(decodeError(status, {}, body)).toEqual({
        kind,
        message: `the upstream answered with status ${status}`,
      });
    }
  });

  test('waits as long as the headers say', () => {
    expect(decodeError(503, { 'retry-after': '3' }, {}).retryAfterMs).toBe(3000);
    expect(decodeError(503, { 'retry-after-ms': '250', 'retry-after': '3' }, {}).retryAfterMs).toBe(250);
    expect(decodeError(503, { 'retry-after': 'soon' }, {})).not.toHaveProperty('retryAfterMs');
  });

  test('never shows a key and is cut at 500 characters', () => {
    const key = `AIza${'x'.repeat(35)}`;
    const { message } = decodeError(
      403,
      {},
      { error: { message: `Consumer 'api_key:${key}' ${'y'.repeat(900)}` } },
    );
    expect(message).not.toContain(key);
    expect(message).toHaveLength(500);
  });
});

test('an in-band error without a numeric code is read by its word', () => {
  expect(decodeStreamError({ error: { code: '503', status: 'UNAVAILABLE' } }).kind).toBe('unavailable');
  expect(decodeStreamError({ error: { status: 'RESOURCE_EXHAUSTED' } }).kind).toBe('rate-limited');
  expect(decodeStreamError({ error: { status: 'toString' } }).kind).toBe('upstream-failed');
});

test.each(kinds)('%s in a stream is read back as a failure of the same status', (kind) => {
  const decoded = decodeStreamError(encodeErrorBody({ kind, message: 'x' }));
  const lost: ErrorKind[] = ['method-not-allowed', 'saturated', 'cancelled', 'internal'];
  if (!lost.includes(kind)) expect(decoded.kind).toBe(kind);
});
