import type { InferenceRequest, Reasoning } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { decodeFinishWord } from './answer/finish.ts';
import { decodeUsage, encodeUsage } from './answer/usage.ts';
import { decodeInBandError } from './error.ts';
import { encodeRequest } from './request/request.ts';

const target = { model: 'm', stream: true, maxOutputTokens: 64 };

function effortFor(reasoning: Reasoning): unknown {
  const request: InferenceRequest = {
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    sampling: {},
    reasoning,
  };
  return encodeRequest(request, target).body.reasoning_effort;
}

describe('a thinking budget becomes the effort that spends about as much', () => {
  test.each([
    [0, 'none'],
    [1, 'low'],
    [4096, 'low'],
    [4097, 'medium'],
    [16_384, 'medium'],
    [16_385, 'high'],
    [-1, undefined],
  ])('%d tokens: %s', (budgetTokens, effort) => {
    expect(effortFor({ budgetTokens })).toBe(effort);
  });

  test('but a given effort wins', () => {
    expect(effortFor({ effort: 'xhigh', budgetTokens: 1 })).toBe('xhigh');
  });
});

describe('other servers’ finish words', () => {
  test.each([
    ['eos', 'stop'],
    ['eos_token', 'stop'],
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool-calls'],
    ['sensitive', 'content-filter'],
    ['refusal', 'content-filter'],
    ['SAFETY', 'content-filter'],
    ['RECITATION', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content-filter'],
    ['content_filtered', 'content-filter'],
    ['guardrail_intervened', 'content-filter'],
    ['MALFORMED_FUNCTION_CALL', 'other'],
    ['something_new', 'other'],
  ])('%s means %s and is kept', (word, reason) => {
    expect(decodeFinishWord(word)).toEqual({ reason, rawReason: word });
  });

  test.each([
    ['content_filter: PROHIBITED_CONTENT', 'content-filter', 'PROHIBITED_CONTENT'],
    ['content_filter: SOMETHING_NEW', 'content-filter', 'SOMETHING_NEW'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'other', 'MALFORMED_FUNCTION_CALL'],
  ])('Gemini’s %s means %s and keeps its own word', (word, reason, rawReason) => {
    expect(decodeFinishWord(word)).toEqual({ reason, rawReason });
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'tool-calls'],
    ['function_call', 'tool-calls'],
    ['content_filter', 'content-filter'],
  ])('%s is the dialect’s own', (word, reason) => {
    expect(decodeFinishWord(word)).toEqual({ reason });
  });

  test.each([
    ...['abort', 'error', 'insufficient_system_resource'],
    ...['network_error', 'cancelled', 'timeout'],
  ])('%s is no end', (word) => {
    expect(decodeFinishWord(word)).toBe('failed');
  });
});

describe('usage with reasoning beside the completion', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 4 } };

  test('is made inclusive if the total shows it', () => {
    const wire = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 17, ...details };
    expect(decodeUsage(wire)).toEqual({ inputTokens: 10, outputTokens: 7, reasoningTokens: 4 });
  });

  test.each([
    ['the total does not say so', { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...details }],
    ['there is no prompt to add up', { completion_tokens: 5, total_tokens: 9, ...details }],
    ['there is no total', { prompt_tokens: 10, completion_tokens: 5, ...details }],
  ])('stays unchanged if %s', (_why, wire) => {
    expect(decodeUsage(wire).outputTokens).toBe(5);
  });

  test('and is counted beside a smaller completion, whatever the total says', () => {
    const thoughts = { completion_tokens_details: { reasoning_tokens: 20 } };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, ...thoughts };
    expect(decodeUsage(usage)).toEqual({ inputTokens: 10, outputTokens: 25, reasoningTokens: 20 });
    expect(decodeUsage({ completion_tokens: 5, ...thoughts }).outputTokens).toBe(25);
  });

  test('is part of the output even if only the total tells of it, as that of Gemini’s API does', () => {
    const usage = { prompt_tokens: 20, completion_tokens: 151, total_tokens: 553 };
    expect(decodeUsage(usage)).toEqual({ inputTokens: 20, outputTokens: 533 });
  });

  test.each([
    ['what was read from a cache', { cached_tokens: 8 }],
    ['what was written to one', { cache_creation_input_tokens: 8 }],
    ['both', { cached_tokens: 5, cache_creation_input_tokens: 3 }],
  ])('is no part of a total that counts %s beside the prompt', (_what, cached) => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 23, ...cached };
    expect(decodeUsage(usage).outputTokens).toBe(5);
  });

  test('is read from SGLang’s place, where 0 means that nobody counted', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    expect(decodeUsage({ ...usage, reasoning_tokens: 4 })).toMatchObject({
      outputTokens: 5,
      reasoningTokens: 4,
    });
    expect(decodeUsage({ ...usage, reasoning_tokens: 0 }).reasoningTokens).toBeUndefined();
  });

  test('is absent if only the prompt was counted', () => {
    expect(decodeUsage({ prompt_tokens: 10, total_tokens: 14, ...details }).outputTokens).toBeUndefined();
  });
});

describe('usage', () => {
  test('is passed on as the server reported it, including details that are unknown here', () => {
    const wire = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 3, audio_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 2, accepted_prediction_tokens: 1 },
      prompt_cache_hit_tokens: 4,
      queue_time: 0.5,
    };
    expect(encodeUsage([decodeUsage(wire)])).toEqual(wire);
  });

  test.each([
    { prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 } },
    { prompt_tokens_details: { cached_tokens: 2, cache_creation_tokens: 3 } },
    { prompt_tokens_details: { cached_tokens: 2, cache_creation_input_tokens: 3 } },
    { prompt_tokens_details: { cached_tokens: 2 }, cache_creation_input_tokens: 3 },
  ])('reports what was written to a cache under whatever name a server uses: %j', (named) => {
    expect(decodeUsage({ prompt_tokens: 10, completion_tokens: 5, ...named })).toMatchObject({
      inputTokens: 10,
      cacheReadTokens: 2,
      cacheWriteTokens: 3,
    });
  });

  test('leaves out what was not reported, or is no count', () => {
    expect(decodeUsage({})).toStrictEqual({});
    const odd = {
      prompt_tokens: '5',
      completion_tokens: -1,
      prompt_tokens_details: { cached_tokens: Number.POSITIVE_INFINITY },
    };
    expect(decodeUsage(odd)).toStrictEqual({});
  });

  test('takes a prompt of 0 tokens for one that nobody counted, and an answer beside it, too', () => {
    const none = { prompt_tokens: 0, total_tokens: 0, completion_tokens: 0 };
    expect(decodeUsage(none)).toStrictEqual({});
    expect(decodeUsage({ ...none, completion_tokens: 9, total_tokens: 9 })).toStrictEqual({
      outputTokens: 9,
    });
    // An output of 0 for a prompt that was counted is a real count.
    expect(decodeUsage({ ...none, prompt_tokens: 5, total_tokens: 5 })).toStrictEqual({
      inputTokens: 5,
      outputTokens: 0,
    });
  });

  test('needs at least one number, and counts the prompt of several choices once', () => {
    const zero = { prompt_tokens: 0, completion_tokens: 0 };
    expect(encodeUsage([])).toBeUndefined();
    expect(encodeUsage([{ cacheReadTokens: 1 }])).toBeUndefined();
    expect(encodeUsage([{ inputTokens: 7 }])).toStrictEqual({ ...zero, prompt_tokens: 7, total_tokens: 7 });
    expect(encodeUsage([{ outputTokens: 7 }])).toStrictEqual({
      ...zero,
      completion_tokens: 7,
      total_tokens: 7,
    });
    expect(encodeUsage([{ inputTokens: 7, outputTokens: 1 }, { outputTokens: 2 }, {}])).toMatchObject({
      total_tokens: 10,
    });
  });
});

describe('the type of an error inside a stream', () => {
  test.each([
    ['invalid_request_error', 'invalid-request'],
    ['BadRequestError', 'invalid-request'],
    ['authentication_error', 'unauthenticated'],
    ['insufficient_quota', 'budget-exhausted'],
    ['permission_error', 'permission-denied'],
    ['NotFoundError', 'not-found'],
    ['rate_limit_error', 'rate-limited'],
    ['overloaded_error', 'unavailable'],
    ['something_new', 'upstream-failed'],
  ])('%s: %s', (type, kind) => {
    expect(decodeInBandError({ error: { type, message: 'no' } })?.kind).toBe(kind);
  });
});
