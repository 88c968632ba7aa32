import type { ErrorKind } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { serverCodecs } from '../registry.ts';
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

  test('tells clients that look for words instead of a code that the prompt is too long', () => {
    const say = (message: string) =>
      encodeErrorBody({ kind: 'invalid-request', message, detail: 'context-length-exceeded' });
    expect(say('prompt is too long: 9 tokens > 8 maximum')).toMatchObject({
      error: {
        message: "This model's maximum context length is exceeded: prompt is too long: 9 tokens > 8 maximum",
      },
    });
    const limit = "This model's maximum context length is 8 tokens.";
    const ofNewer = `Input tokens exceed the configured limit: ${limit}`;
    expect(say(limit)).toMatchObject({ error: { message: ofNewer } });
    expect(say(ofNewer)).toMatchObject({ error: { message: ofNewer } });
    expect(say('the request exceeds the available context size')).toMatchObject({
      error: {
        message:
          "Input tokens exceed the configured limit: This model's maximum context length is exceeded: " +
          'the request exceeds the available context size',
      },
    });
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
  test('the status gives the kind if the body says nothing', () => {
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
    [
      "FastAPI's list",
      { detail: [{ type: 'missing', loc: ['body', 'messages', 0], msg: 'no', input: 'secret' }] },
      'messages.0: no',
    ],
    ["Mistral's", { object: 'error', message: { detail: [{ loc: ['body'], msg: 'no' }] } }, 'no'],
    ["Google's list", [{ error: { code: 400, message: 'no', status: 'INVALID_ARGUMENT' } }], 'no'],
    [
      "a router's, which hands on another's",
      { error: { message: 'Provider returned error', metadata: { raw: '{"error":{"message":"no"}}' } } },
      'no',
    ],
    [
      "a router's, which hands on a text",
      { error: { message: 'Provider returned error', metadata: { raw: 'no', provider_name: 'x' } } },
      'no',
    ],
    [
      "a router's, which hands on a page",
      { error: { message: 'no', metadata: { raw: '\n<html>', provider_name: 'x' } } },
      'no',
    ],
    ["a router's, which hands on nothing", { error: { message: 'no', metadata: { raw: ' \n' } } }, 'no'],
    ["Cloudflare's list", { errors: [{ message: 'no', code: 5007 }], success: false, messages: [] }, 'no'],
    ['a list of errors that is empty', { errors: [], message: 'no' }, 'no'],
    ['plain text', 'no', 'no'],
    ['something else', { detail: [{ loc: [] }] }, 'the upstream answered with status 400'],
  ])('reads %s', (_name, body, message) => {
    expect(decodeError(400, {}, body)).toMatchObject({ kind: 'invalid-request', message });
  });

  test('a prompt that a filter refused is told as such, by Azure’s code', () => {
    const message =
      "The response was filtered due to the prompt triggering Azure's content management policy.";
    const refused = { message, type: null, param: 'prompt', code: 'content_filter', status: 400 };
    const error = decodeError(400, {}, { error: refused });
    expect(error).toMatchObject({ kind: 'invalid-request', detail: 'content-filtered', message });
    expect(encodeErrorBody(error)).toMatchObject({ error: { code: 'content_filter', message } });
  });

  test.each([
    [
      'Moonshot',
      { code: 400, message: 'It was considered high risk', param: 'prompt', type: 'content_filter' },
    ],
    ['Qwen', { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' }],
  ])('so is one that %s refused', (_server, error) => {
    expect(decodeError(400, {}, { error })).toMatchObject({
      kind: 'invalid-request',
      detail: 'content-filtered',
    });
  });

  test.each([
    ['a word', 'invalid_value', 'invalid_value'],
    ['a number', '1210', null],
    ['a status', 400, null],
    ['a sentence', 'no such value', null],
    ['endless', 'a'.repeat(65), null],
  ])('a code that is %s', (_what, code, told) => {
    const error = decodeError(400, {}, { error: { message: 'no', code } });
    expect(encodeErrorBody(error)).toMatchObject({ error: { message: 'no', code: told } });
  });

  test.each([
    ['invalid-request', 400, {}],
    ['rate-limited', 429, { code: 'rate_limit_exceeded' }],
    ['invalid-request', 400, { code: 'context_length_exceeded' }],
    ['invalid-request', 400, { code: 'content_filter' }],
    ['invalid-request', 400, { code: 'invalid_value' }],
  ])('what a server blames is told to clients of this format only: %s %i %j', (kind, status, code) => {
    const blamed = { param: 'messages[1].content', ...code };
    const error = decodeError(status, {}, { error: { message: 'no', ...blamed } });
    // In canonical terms, it would be another place.
    expect(error).not.toHaveProperty('param');
    expect(error.kind).toBe(kind);
    expect(encodeErrorBody(error)).toMatchObject({ error: blamed });
    const params = serverCodecs.map((codec) =>
      JSON.stringify(codec.encodeError(error, { requestId: 'r' }).body).includes('messages[1]'),
    );
    expect(params.filter(Boolean)).toHaveLength(1);
  });

  test('a code never stands in the place of one of the gateway’s own', () => {
    const error = decodeError(429, {}, { error: { message: 'no', code: 'engine_busy' } });
    expect(encodeErrorBody(error)).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  });

  test('a code says more than the status', () => {
    const withCode = (code: string) => ({ error: { message: 'x', code } });
    expect(decodeError(429, {}, withCode('insufficient_quota')).kind).toBe('budget-exhausted');
    expect(decodeError(400, {}, { error: { message: 'Insufficient Balance' } }).kind).toBe(
      'budget-exhausted',
    );
    expect(decodeError(400, {}, withCode('context_length_exceeded')).detail).toBe('context-length-exceeded');
    expect(decodeError(404, {}, withCode('model_not_found')).detail).toBe('model-not-found');
  });

  test.each([
    [400, "This model's maximum context length is 4096 tokens."],
    [400, 'Input tokens exceed the configured limit of 272000 tokens.'],
    [400, 'Your input exceeds the context window of this model.'],
    [400, 'the request exceeds the available context size, try increasing it'],
    [500, 'Context size has been exceeded.'],
    [400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."],
    [400, 'The decoder prompt (length 9000) is longer than the maximum model length of 8192.'],
    [422, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000'],
    [422, 'Input validation error: `inputs` must have less than 4095 tokens. Given: 5000'],
    [400, 'However, the model is loaded with context length of only 4096 tokens'],
    [400, "This model's maximum prompt length is 131072 but the request contains 200000 tokens."],
    [400, 'litellm.ContextWindowExceededError: litellm.BadRequestError'],
    [400, 'Please reduce the length of the messages or completion.'],
    [400, 'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).'],
    [413, 'prompt is too long: 210000 tokens > 200000 maximum'],
    [400, '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]'],
    [400, 'length of prompt_tokens (57535) must be less than max_seq_len (32768).'],
    [
      400,
      'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input.',
    ],
    [400, 'Input length 203743 exceeds the maximum length 202752. Request id: 0217'],
    [400, 'Total tokens of image and text exceed max message tokens. Request id: 0217'],
    [400, 'Prompt length (5000) exceeds maximum input length (4096). Set log level to info and check'],
    [400, 'The sum of prompt length (38049.0), query length (0) should not exceed max_num_tokens (32768)'],
    [400, 'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input.'],
    [400, 'too many tokens: size limit exceeded by 3134 tokens. Try using shorter or fewer inputs'],
    [413, 'Request body too large for gpt-4o model. Max size: 8000 tokens.'],
  ])('recognizes a prompt that is too long by status %i and the words "%s"', (status, message) => {
    const tooLong = { kind: 'invalid-request', detail: 'context-length-exceeded' };
    expect(decodeError(status, {}, { error: { message } })).toMatchObject(tooLong);
    expect(decodeError(429, {}, { error: { message } })).toMatchObject({ kind: 'rate-limited' });
  });

  test.each<[string, number, object]>([
    ['DeepSeek', 400, { message: 'Insufficient Balance' }],
    [
      'Zhipu',
      429,
      { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' },
    ],
    ['Zhipu, in Chinese', 429, { code: '1113', message: '余额不足或无可用资源包,请充值。' }],
    ['Zhipu, once more', 429, { code: '1113', message: '您的账户已欠费，请充值后重试。' }],
    ['Moonshot', 429, { message: 'Your account is suspended', type: 'exceeded_current_quota_error' }],
    [
      'Qwen',
      400,
      {
        code: 'Arrearage',
        type: 'Arrearage',
        message: 'Access denied, please make sure your account is in good standing.',
      },
    ],
  ])('recognizes an empty account of %s, told with status %i', (_server, status, error) => {
    expect(decodeError(status, {}, { error }).kind).toBe('budget-exhausted');
  });

  test('recognizes by the text that a router hands on that a prompt is too long', () => {
    const raw = 'Input token count 9000 exceeds the maximum context length of 8192 tokens.';
    const error = { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'x' } };
    const told = { kind: 'invalid-request', message: raw, detail: 'context-length-exceeded' };
    expect(decodeError(400, {}, { error })).toEqual(told);
    expect(decodeInBandError({ error })).toEqual(told);
  });

  test("recognizes that a router's server does not serve the place of the gateway", () => {
    const raw = '{"error":{"code":400,"message":"User location is not supported for the API use."}}';
    const error = { message: 'Provider returned error', code: 400, metadata: { raw } };
    expect(decodeError(400, {}, { error }).kind).toBe('permission-denied');
  });

  test('recognizes a refused credential that is blamed on the request', () => {
    for (const message of [
      'Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.',
      'API key not valid. Please pass a valid API key.',
    ]) {
      expect(decodeError(400, {}, { error: message }).kind).toBe('unauthenticated');
    }
  });

  test.each([
    [
      'xAI',
      {
        code: 'The caller does not have permission to execute the specified operation',
        error:
          'Content violates usage guidelines. Team: 1b2c, API key ID: 3d4e, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO',
      },
    ],
    [
      'OpenRouter',
      {
        error: {
          code: 403,
          message: 'Your chosen model requires moderation and your input was flagged',
          metadata: { reasons: ['violence'], flagged_input: 'the prompt', provider_name: 'x' },
        },
      },
    ],
  ])('blames the content, not the credential, where %s refuses content with status 403', (_server, body) => {
    const refusal = {
      kind: 'invalid-request',
      message: 'the upstream refused the content of the request by its usage rules',
      detail: 'content-filtered',
    };
    expect(decodeError(403, {}, body)).toEqual(refusal);
    expect(decodeInBandError({ error: { code: 403, message: 'Your input was flagged' } })).toEqual(refusal);
  });

  test.each([
    [
      'llama.cpp',
      500,
      {
        error: {
          code: 500,
          message:
            'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
          type: 'server_error',
        },
      },
    ],
    ["MLX's server", 404, { error: "Only 'text' content type is supported." }],
    ["MLX's server", 404, { error: 'System message must be at the beginning.' }],
    ["MLX's server", 404, { error: 'Conversation roles must alternate user/assistant/user/assistant/...' }],
  ])(
    'recognizes a conversation that a model of %s does not accept by status %i and %j',
    (_server, status, body) => {
      expect(decodeError(status, {}, body).kind).toBe('invalid-request');
    },
  );

  test('believes a server that the model does not exist', () => {
    expect(decodeError(404, {}, { error: 'Got: ConnectError: Name or service not known' }).kind).toBe(
      'not-found',
    );
  });

  test.each([
    'No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing',
    'No endpoints found that can handle the requested parameters.',
  ])('tells a request that suits no server of a model from an unknown model: %s', (message) => {
    const body = { error: { message, code: 404 } };
    expect(decodeError(404, {}, body)).toEqual({ kind: 'invalid-request', message });
    const unknown = { error: { message: 'No endpoints found for a/b.', code: 404 } };
    expect(decodeError(404, {}, unknown).kind).toBe('not-found');
  });

  test.each([
    'Tool calling is not supported for model: meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8',
    'Multimodal is not supported for model: meta-llama/Llama-3.3-70B-Instruct-Turbo',
  ])('tells what a model cannot do from a path that takes no such call: %s', (message) => {
    expect(decodeError(405, {}, { error: { message } })).toEqual({ kind: 'invalid-request', message });
    expect(decodeError(405, {}, { error: { message: 'Method Not Allowed' } }).kind).toBe(
      'method-not-allowed',
    );
  });

  test('reads an error inside of the message of another, as Together wraps it', () => {
    const inner = { message: 'Invalid JSON data', type: 'invalid_request_error' };
    const body = { error: { message: inner, type: 'invalid_request_error' } };
    expect(decodeError(400, {}, body)).toEqual({ kind: 'invalid-request', message: 'Invalid JSON data' });
  });

  test('does not let a client wait with a request larger than a whole minute’s tokens', () => {
    const body = { error: { message: 'Request too large', type: 'tokens', code: 'rate_limit_exceeded' } };
    expect(decodeError(413, {}, body).kind).toBe('too-large');
    expect(decodeError(429, {}, body).kind).toBe('rate-limited');
  });

  test('recognizes the spent budget of a proxy', () => {
    const body = { error: { message: 'Budget has been exceeded!', type: 'budget_exceeded', code: '400' } };
    expect(decodeError(400, {}, body).kind).toBe('budget-exhausted');
  });

  test('does not pass on what a server says about its credential', () => {
    const body = { error: { message: 'Incorrect API key provided: sk-proj-1234', code: 'invalid_api_key' } };
    expect(JSON.stringify(decodeError(401, {}, body))).not.toContain('sk-');
  });

  test('caps messages', () => {
    expect(decodeError(500, {}, 'x'.repeat(9000)).message).toHaveLength(500);
  });

  test('keeps the advice of the headers', () => {
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

test('an error that quotes endless words takes no longer to read than another', () => {
  // Half as many took 36 s, and all of them four times that: more than a test may take.
  const message = 'last role '.repeat(100_000);
  expect(decodeError(500, {}, { error: { message } }).kind).toBe('upstream-failed');
});
