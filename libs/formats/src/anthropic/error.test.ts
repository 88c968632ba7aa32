import { describe, expect, test } from 'vitest';
import { decodeInBandError } from './error.ts';
import { anthropic } from './index.ts';

const { client, server } = anthropic;

describe('an error body', () => {
  test.each([
    ['invalid-request', 400, 'invalid_request_error'],
    ['unauthenticated', 401, 'authentication_error'],
    ['budget-exhausted', 402, 'billing_error'],
    ['permission-denied', 403, 'permission_error'],
    ['not-found', 404, 'not_found_error'],
    ['method-not-allowed', 405, 'invalid_request_error'],
    ['too-large', 413, 'request_too_large'],
    ['unsupported-media', 415, 'invalid_request_error'],
    ['rate-limited', 429, 'rate_limit_error'],
    ['saturated', 429, 'rate_limit_error'],
    ['cancelled', 499, 'api_error'],
    ['internal', 500, 'api_error'],
    ['upstream-failed', 502, 'api_error'],
    ['unavailable', 503, 'api_error'],
    ['deadline-exceeded', 504, 'timeout_error'],
  ] as const)('for %s has status %d and type %s', (kind, status, type) => {
    const encoded = server.encodeError({ kind, message: 'no' }, { requestId: 'req_1' });
    expect(encoded.status).toBe(status);
    expect(encoded.body).toEqual({ type: 'error', error: { type, message: 'no' }, request_id: 'req_1' });
  });

  test('tells overload of a model server from unavailability', () => {
    const encoded = server.encodeError(
      { kind: 'unavailable', message: 'no', detail: 'overloaded' },
      { requestId: 'r' },
    );
    expect(encoded).toMatchObject({
      status: 529,
      headers: { 'retry-after': '1' },
      body: { error: { type: 'overloaded_error', message: 'no' } },
    });
  });

  test('tells clients that compact a long conversation in the words that they look for', () => {
    const detail = 'context-length-exceeded';
    const kind = 'invalid-request';
    const say = (message: string) => server.encodeError({ kind, message, detail }, { requestId: 'r' }).body;
    expect(say('9 tokens > 8 maximum')).toMatchObject({
      error: { message: 'prompt is too long: 9 tokens > 8 maximum' },
    });
    expect(say('prompt is too long: 9 tokens > 8 maximum')).toMatchObject({
      error: { message: 'prompt is too long: 9 tokens > 8 maximum' },
    });
  });

  test('has the code by which an SDK knows that it must send a conversation again', () => {
    const lost = server.encodeError(
      { kind: 'not-found', message: 'no thread', detail: 'thread-not-found' },
      { requestId: 'r' },
    );
    expect(lost).toMatchObject({
      status: 404,
      body: { error: { type: 'not_found_error', details: { error_code: 'thread_not_found' } } },
    });
  });

  test('names the field if the message does not', () => {
    const named = server.encodeError(
      { kind: 'invalid-request', message: 'no', param: 'tools[0]' },
      { requestId: 'r' },
    );
    expect(named.body).toMatchObject({ error: { message: 'tools[0]: no' } });
  });
});

describe('the answer of a server', () => {
  test('that refuses keeps kind, words and wait', () => {
    const body = { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } };
    expect(client.decodeError(429, { 'retry-after': '7', 'x-should-retry': 'false' }, body)).toEqual({
      kind: 'rate-limited',
      message: 'slow down',
      retryAfterMs: 7000,
      retryable: false,
    });
  });

  test('that is overloaded is unavailable, by its type or its status', () => {
    const typed = { error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(client.decodeError(529, {}, typed).kind).toBe('unavailable');
    expect(client.decodeError(529, {}, undefined)).toEqual({
      kind: 'unavailable',
      message: 'the server answered with status 529',
      detail: 'overloaded',
    });
    expect(client.decodeError(503, {}, { error: { type: 'api_error', message: 'x' } })).toEqual({
      kind: 'unavailable',
      message: 'x',
    });
  });

  test.each([
    [401, 'unauthenticated'],
    [402, 'budget-exhausted'],
    [403, 'permission-denied'],
    [404, 'not-found'],
    [405, 'method-not-allowed'],
    [408, 'deadline-exceeded'],
    [413, 'too-large'],
    [415, 'unsupported-media'],
    [429, 'rate-limited'],
    [400, 'invalid-request'],
    [422, 'invalid-request'],
    [500, 'invalid-request'],
  ])(
    'with status %i and the general type, which Claude’s API may give to any refusal, is %s',
    (status, kind) => {
      const error = { type: 'invalid_request_error', message: 'no' };
      expect(client.decodeError(status, {}, { type: 'error', error }).kind).toBe(kind);
    },
  );

  test('with a page of another program has the kind of its status', () => {
    expect(client.decodeError(404, {}, '<html>').kind).toBe('not-found');
    expect(client.decodeError(500, {}, null).kind).toBe('upstream-failed');
    expect(client.decodeError(418, {}, []).kind).toBe('invalid-request');
  });

  test('that gives a known reason says it in our terms', () => {
    const long = {
      error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
    };
    for (const status of [400, 413]) {
      const { kind, detail } = client.decodeError(status, {}, long);
      expect([kind, detail]).toEqual(['invalid-request', 'context-length-exceeded']);
    }
    const unknown = { error: { type: 'not_found_error', message: 'model: nope' } };
    expect(client.decodeError(404, {}, unknown).detail).toBe('model-not-found');
  });

  test('tells a request that suits no server of a model from an unknown model', () => {
    const message = 'No endpoints found that support image input for this model';
    const body = { type: 'error', error: { type: 'not_found_error', message } };
    expect(client.decodeError(404, {}, body)).toEqual({ kind: 'invalid-request', message });
  });

  test('knows an image that a model does not accept, which llama.cpp reports as its own failure', () => {
    const message =
      'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj';
    const body = { type: 'error', error: { type: 'api_error', message } };
    expect(client.decodeError(500, {}, body)).toEqual({ kind: 'invalid-request', message });
  });

  test('knows an empty account, which MiniMax reports as its own failure', () => {
    const body = { type: 'error', error: { type: 'api_error', message: 'insufficient balance (1008)' } };
    expect(client.decodeError(500, {}, body).kind).toBe('budget-exhausted');
  });

  test.each<[string, unknown]>([
    ['FastAPI’s', { detail: 'prompt is too long' }],
    ['FastAPI’s list', { detail: [{ loc: ['body', 'messages'], msg: 'prompt is too long', input: [] }] }],
    ['Llama Stack’s', { errors: [{ loc: ['body', 'messages'], msg: 'prompt is too long' }] }],
    ['Vertex’s', [{ error: { code: 400, message: 'prompt is too long', status: 'INVALID_ARGUMENT' } }]],
    ['Bedrock’s', { message: 'prompt is too long' }],
    ['a bare sentence', { error: 'prompt is too long' }],
    ['plain text', 'prompt is too long'],
    [
      'OpenRouter’s, which hands on another’s',
      {
        error: { code: 400, message: 'no', metadata: { raw: '{"error":{"message":"prompt is too long"}}' } },
      },
    ],
  ])('is understood in %s shape', (_whose, body) => {
    const error = client.decodeError(400, {}, body);
    expect(error).toMatchObject({ kind: 'invalid-request', detail: 'context-length-exceeded' });
    expect(error.message).toContain('prompt is too long');
  });

  test.each([
    [400, 'invalid_request_error', 'organization_on_hold', 'permission-denied'],
    [400, 'invalid_request_error', 'cmek_key_disabled', 'permission-denied'],
    [400, 'invalid_request_error', 'claude_code_key_creator_not_member', 'permission-denied'],
    [429, 'rate_limit_error', 'enforced_spend_limit_reached', 'budget-exhausted'],
    [429, 'rate_limit_error', 'ramp_limit_exceeded', 'rate-limited'],
    [503, 'api_error', 'cmek_key_unreachable', 'unavailable'],
    [400, 'invalid_request_error', 'tool_name_conflict', 'invalid-request'],
  ])('with status %i, type %s and code %s is %s', (status, type, code, kind) => {
    const error = { type, message: 'no', details: { error_code: code } };
    expect(client.decodeError(status, {}, { type: 'error', error }).kind).toBe(kind);
  });

  test('keeps what it tells programs, for clients of this format', () => {
    const details = { error_code: 'image_dimensions_too_large', max_side_length_pixels: 8000, paths: ['x'] };
    const error = { type: 'invalid_request_error', message: 'no', details };
    const read = client.decodeError(400, {}, { type: 'error', error });
    const { body } = server.encodeError(read, { requestId: 'r' });
    expect(body).toEqual({ type: 'error', error, request_id: 'r' });
    const ours = server.encodeError({ ...read, detail: 'thread-not-found' }, { requestId: 'r' });
    expect(ours.body).toMatchObject({ error: { details: { error_code: 'thread_not_found' } } });
  });

  test('in band has the kind of its code, if that is a status of a failure', () => {
    const read = (code: number) => decodeInBandError({ error: { code, message: 'no' } })?.kind;
    expect([399, 400, 429, 500].map(read)).toEqual([
      'upstream-failed',
      'invalid-request',
      'rate-limited',
      'upstream-failed',
    ]);
  });

  test('in band may be a mere text, and is none without one', () => {
    expect(decodeInBandError({ error: 'busy' })).toEqual({ kind: 'upstream-failed', message: 'busy' });
    for (const error of ['', null, 7, []]) expect(decodeInBandError({ error })).toBeUndefined();
  });

  test('with endless words is shortened', () => {
    const body = { error: { type: 'api_error', message: 'x'.repeat(9999) } };
    expect(client.decodeError(500, {}, body).message).toHaveLength(500);
  });
});
