import {
  collect,
  findGrammarError,
  type GenerationEvent,
  type Json,
  type JsonObject,
} from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { SseParser } from '../sse.ts';
import { decodeFinishReason, encodeFinishReason } from './answer/finish.ts';
import { decodeLogprobs, encodeLogprobs } from './answer/logprobs.ts';
import { encodeResponse } from './answer/response.ts';
import { decodeResponse } from './answer/stream-decode.ts';
import { createStreamEncoder } from './answer/stream-encode.ts';
import { addUsage, decodeUsage, encodeUsage } from './answer/usage.ts';
import { parseArguments } from './arguments.ts';
import { decodeError, decodeStreamError, encodeError, encodeErrorBody } from './error.ts';
import { encodePath } from './path.ts';

const context = { id: 'g1', createdAt: 1, model: 'm' };

function decode(...chunks: Json[]): GenerationEvent[] {
  const events = decodeResponse(chunks, context);
  expect(findGrammarError(events)).toBeUndefined();
  return events;
}

const chunk = (parts: Json[], more: JsonObject = {}, beside: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, ...more }],
  ...beside,
});
const answerOf = (...chunks: Json[]) => collect(decode(...chunks, chunk([], { finishReason: 'STOP' })));

describe('every finish reason', () => {
  test.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content-filter'],
    ['RECITATION', 'content-filter'],
    ['LANGUAGE', 'content-filter'],
    ['BLOCKLIST', 'content-filter'],
    ['PROHIBITED_CONTENT', 'content-filter'],
    ['SPII', 'content-filter'],
    ['MODEL_ARMOR', 'content-filter'],
    ['ESCALATION', 'content-filter'],
    ['PUP_LIMITED_DISABLED', 'content-filter'],
    ['IMAGE_SAFETY', 'content-filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content-filter'],
    ['IMAGE_RECITATION', 'content-filter'],
    ['IMAGE_OTHER', 'content-filter'],
    ['FINISH_REASON_UNSPECIFIED', 'other'],
    ['NO_IMAGE', 'other'],
    ['MALFORMED_FUNCTION_CALL', 'other'],
    ['UNEXPECTED_TOOL_CALL', 'other'],
    ['TOO_MANY_TOOL_CALLS', 'other'],
    ['MALFORMED_RESPONSE', 'other'],
    ['MISSING_THOUGHT_SIGNATURE', 'other'],
    ['OTHER', 'other'],
  ] as const)('%s is %s, and said as it was', (word, reason) => {
    const decoded = decodeFinishReason(word, false);
    expect(decoded.reason).toBe(reason);
    expect(encodeFinishReason({ type: 'finish', usage: {}, ...decoded }, false)).toBe(word);
  });

  test('that the dialect does not know becomes its nearest', () => {
    const word = (
      reason: 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other',
      rawReason?: string,
    ) => encodeFinishReason({ type: 'finish', reason, usage: {}, ...(rawReason && { rawReason }) }, false);
    expect(decodeFinishReason('NEW', false)).toEqual({ reason: 'other', rawReason: 'NEW' });
    expect(word('other', 'NEW')).toBe('OTHER');
    expect(word('stop', 'MAX_TOKENS')).toBe('STOP');
    expect(word('stop', 'toString')).toBe('STOP');
    expect([word('tool-calls'), word('content-filter'), word('length')]).toEqual([
      'STOP',
      'SAFETY',
      'MAX_TOKENS',
    ]);
    expect(decodeFinishReason('STOP', true)).toStrictEqual({ reason: 'tool-calls' });
  });

  test('of a call that cannot be read says so, unless something else cut it off', () => {
    const word = (reason: 'stop' | 'length' | 'content-filter' | 'other') =>
      encodeFinishReason({ type: 'finish', reason, usage: {} }, true);
    expect([word('stop'), word('other'), word('length'), word('content-filter')]).toEqual([
      'MALFORMED_FUNCTION_CALL',
      'MALFORMED_FUNCTION_CALL',
      'MAX_TOKENS',
      'SAFETY',
    ]);
  });
});

describe('an answer', () => {
  test('that was refused for its prompt is filtered, whatever the word', () => {
    const blocked = (blockReason: string) => decode({ promptFeedback: { blockReason } }).at(-1);
    expect(blocked('OTHER')).toMatchObject({ reason: 'content-filter', rawReason: 'OTHER' });
    expect(blocked('SAFETY')).toMatchObject({ reason: 'content-filter' });
    expect(blocked('SAFETY')).not.toHaveProperty('rawReason');
    const feedback = { promptFeedback: { blockReason: 'OTHER' } };
    expect(decode(chunk([{ text: 'a' }], { finishReason: 'OTHER' }, feedback)).at(-1)).toMatchObject({
      reason: 'other',
    });
    expect(decode(chunk([], { finishReason: 'OTHER' })).at(-1)).toMatchObject({ reason: 'other' });
  });

  test('that goes on in the next one says so, with the token for it', () => {
    const events = decode(
      chunk([{ text: 'a' }], { finishReason: 'CONTINUATION', continuationToken: 'dG9rZW4=' }),
    );
    const call = { choices: 1, wire: {}, model: 'm', stream: false, requestId: 'r' };
    expect(encodeResponse([collect(events)], call)).toMatchObject({
      candidates: [{ finishReason: 'CONTINUATION', continuationToken: 'dG9rZW4=' }],
    });
  });

  test('ignores other choices', () => {
    const other = { index: 1, content: { parts: [{ text: 'b' }] } };
    const own = { content: { parts: [{ text: 'a' }] } };
    expect(answerOf({ candidates: [other, own] }).content).toEqual([{ type: 'text', text: 'a' }]);
  });

  test('has adjacent parts of a kind in one block, separated by a call or a strange part', () => {
    const parts = [
      { text: 'hm', thought: true },
      { text: '', thought: true },
      { text: 'a' },
      { text: 'b' },
      { functionCall: { name: 'f' } },
      { text: 'c' },
      { functionResponse: { name: 'x' } },
      { inlineData: { mimeType: 'image/png', data: 'AA' } },
      { text: 'd' },
    ];
    expect(answerOf(chunk(parts)).content).toMatchObject([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ab' },
      { type: 'tool-call', name: 'f', id: 'call_g1_1', arguments: '{}' },
      { type: 'text', text: 'c' },
      { type: 'opaque', value: { functionResponse: { name: 'x' } } },
      { type: 'opaque', value: { inlineData: { mimeType: 'image/png', data: 'AA' } } },
      { type: 'text', text: 'd' },
    ]);
  });

  test('has a signature in its place: on the text before it, or alone', () => {
    const signed = (...parts: Json[]) => answerOf(chunk(parts)).content;
    const extensions = { gemini: { thoughtSignature: 's' } };
    const signature = { text: '', thoughtSignature: 's' };
    expect(signed({ text: 'a' }, signature, { text: 'b' })).toEqual([
      { type: 'text', text: 'a', extensions },
      { type: 'text', text: 'b' },
    ]);
    expect(signed(signature, { text: 'b' })).toEqual([
      { type: 'text', text: '', extensions },
      { type: 'text', text: 'b' },
    ]);
  });

  test('counts its tokens on the first delta of a chunk, each once', () => {
    const used = (candidatesTokenCount: number) => ({ usageMetadata: { candidatesTokenCount } });
    const events = decode(
      chunk([{ text: 'a' }], {}, used(2)),
      chunk([{ text: 'b' }, { text: 'c', thought: true }], {}, used(5)),
      chunk([{ functionCall: { name: 'f' } }], {}, used(5)),
      chunk([{ functionCall: { name: 'g' } }], { finishReason: 'STOP' }, used(9)),
    );
    const tokens = events.flatMap((event) => ('tokens' in event ? [[event.type, event.tokens]] : []));
    expect(tokens).toEqual([
      ['text-delta', 2],
      ['text-delta', 3],
      ['tool-call-delta', 4],
    ]);
  });

  test('has its log probabilities on its text, not on its thoughts', () => {
    const logprobsResult = { chosenCandidates: [{ token: 'a', logProbability: -1 }] };
    const events = decode(
      chunk([{ text: 'hm', thought: true }, { text: 'a' }], { logprobsResult, finishReason: 'STOP' }),
    );
    expect(events.map((event) => 'logprobs' in event)).toEqual([false, false, true, false]);
    expect(answerOf(chunk([{ text: 'a' }], { logprobsResult: {} }))).not.toHaveProperty('logprobs');
  });

  test('accumulates the sources of its citations, and replaces the rest', () => {
    const cited = (uri: string | undefined, odd: number) =>
      chunk([{ text: 'a' }], {
        odd,
        ...(uri && { citationMetadata: { odd, citationSources: [{ uri }] } }),
      });
    const keptOf = (...chunks: Json[]) => answerOf(...chunks).finish.extensions?.gemini?.candidate;
    expect(keptOf(cited('x', 1), cited('y', 2))).toEqual({
      odd: 2,
      citationMetadata: { odd: 2, citationSources: [{ uri: 'x' }, { uri: 'y' }] },
    });
    expect(keptOf(cited('x', 1), cited(undefined, 2))).toEqual({
      odd: 2,
      citationMetadata: { odd: 1, citationSources: [{ uri: 'x' }] },
    });
    expect(keptOf(cited(undefined, 1), cited('y', 2))).toEqual({
      odd: 2,
      citationMetadata: { odd: 2, citationSources: [{ uri: 'y' }] },
    });
    expect(keptOf(chunk([], { citationMetadata: 7 }), chunk([], { citationMetadata: { odd: 1 } }))).toEqual({
      citationMetadata: { odd: 1 },
    });
  });

  test('that is none ends in a failure that says which', () => {
    const failure = (...chunks: Json[]) => decode(...chunks).at(-1);
    expect(failure(7)).toMatchObject({
      error: { message: 'the upstream sent a message that is not an answer' },
    });
    expect(failure(chunk([{ text: 'a' }]))).toMatchObject({
      error: { message: 'the upstream closed the stream before the answer was complete' },
    });
    for (const nothing of ['', null]) {
      expect(failure(chunk([{ text: 'a' }], { finishReason: nothing }))).toMatchObject({ type: 'error' });
    }
    expect(failure(chunk([{ text: 7 }]))).not.toHaveProperty('usage');
    expect(failure({ usageMetadata: { promptTokenCount: 3 } }, 7)).toMatchObject({
      usage: { inputTokens: 3 },
    });
    expect(failure(chunk([]), { error: { code: 429, message: 'busy' } })).toMatchObject({
      error: { kind: 'rate-limited', message: 'busy' },
    });
    expect(failure(chunk([]), { error: 'no worker is left' })).toMatchObject({
      error: { kind: 'upstream-failed', message: 'no worker is left' },
    });
    expect(failure(chunk([]), { error: '' })).toMatchObject({
      error: { message: 'the upstream sent a message that is not an answer' },
    });
  });

  test('reports the tokens of its prompt at once if the first chunk has them', () => {
    expect(
      decode(chunk([], { finishReason: 'STOP' }, { usageMetadata: { promptTokenCount: 3 } }))[0],
    ).toEqual({
      type: 'start',
      ...context,
      inputTokens: 3,
    });
    expect(decode(chunk([], { finishReason: 'STOP' }))[0]).toStrictEqual({ type: 'start', ...context });
  });
});

test('texts of a kind are one part of a single body, unless they carry more than text', () => {
  const call = {
    stream: false,
    model: 'm',
    choices: 1,
    requestId: 'r',
    wire: { includeThoughts: true, textOnly: false },
  };
  const extensions = { gemini: { thoughtSignature: 's' } };
  const body = encodeResponse(
    [
      {
        ...context,
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
          { type: 'reasoning', text: 'c' },
          { type: 'reasoning', text: 'd' },
          { type: 'text', text: 'e', extensions },
          { type: 'text', text: 'f' },
          { type: 'text', text: '' },
          { type: 'tool-call', id: 'x', name: 'f', arguments: '{"a":1}' },
          { type: 'tool-call', id: 'y', name: 'f', arguments: '{"a":1}' },
          { type: 'opaque', format: 'openai', value: {} },
          { type: 'opaque', format: 'gemini', value: { odd: 1 } },
        ],
        finish: { type: 'finish', reason: 'stop', usage: {} },
      },
    ],
    call,
  );
  expect(body).toMatchObject({
    candidates: [
      {
        content: {
          parts: [
            { text: 'ab' },
            { text: 'cd', thought: true },
            { text: 'e', thoughtSignature: 's' },
            { text: 'f' },
            { functionCall: { id: 'x', name: 'f', args: { a: 1 } } },
            { functionCall: { id: 'y', name: 'f', args: { a: 1 } } },
            { odd: 1 },
          ],
        },
        finishReason: 'STOP',
      },
    ],
  });
});

describe('log probabilities', () => {
  test('go both ways with their alternatives', () => {
    const wire = {
      chosenCandidates: [
        { token: 'ä', logProbability: -1, tokenId: 7 },
        { token: 'b', logProbability: -2 },
      ],
      topCandidates: [{ candidates: [{ token: 'c', logProbability: -3 }] }, { candidates: [] }],
      logProbabilitySum: -3,
    };
    expect(decodeLogprobs(wire)).toEqual([
      {
        token: 'ä',
        logprob: -1,
        bytes: [195, 164],
        token_id: 7,
        top_logprobs: [{ token: 'c', logprob: -3, bytes: [99] }],
      },
      { token: 'b', logprob: -2, bytes: [98], top_logprobs: [] },
    ]);
    expect(encodeLogprobs(decodeLogprobs(wire))).toEqual(wire);
  });

  test('of odd shapes cost nothing but themselves', () => {
    expect(decodeLogprobs({})).toEqual([]);
    expect(decodeLogprobs({ chosenCandidates: 7, topCandidates: 7 })).toEqual([]);
    const bare = { token: '', logprob: 0, bytes: [], top_logprobs: [] };
    expect(decodeLogprobs({ chosenCandidates: [7, {}] })).toEqual([bare]);
    expect(decodeLogprobs({ chosenCandidates: [{ token: 7 }], topCandidates: [7] })).toEqual([bare]);
    expect(decodeLogprobs({ chosenCandidates: [{}], topCandidates: [{ candidates: [7] }] })).toEqual([bare]);
    expect(encodeLogprobs([7, {}, { token: 'a', logprob: -1, top_logprobs: [7] }])).toStrictEqual({
      chosenCandidates: [
        { token: '', logProbability: 0 },
        { token: 'a', logProbability: -1 },
      ],
      topCandidates: [{ candidates: [] }, { candidates: [] }],
      logProbabilitySum: -1,
    });
  });

  test('of a call reach a client of the dialect, in a stream with the call', () => {
    const logprobsResult = {
      chosenCandidates: [{ token: 'f', logProbability: -1 }],
      topCandidates: [{ candidates: [] }],
      logProbabilitySum: -1,
    };
    const functionCall = { id: 'c', name: 'f', args: {} };
    const events = decode(chunk([{ functionCall }], { logprobsResult, finishReason: 'STOP' }));
    const call = { stream: true, model: 'm', choices: 1, requestId: 'r', wire: { sse: true } };
    const candidate = { content: { role: 'model', parts: [{ functionCall }] }, logprobsResult };
    const encoder = createStreamEncoder(call);
    const [only] = new SseParser().push(events.map((event) => encoder.push(event, 0)).join(''));
    expect(JSON.parse(only?.data ?? '')).toMatchObject({ candidates: [candidate] });
    expect(encodeResponse([collect(events)], call)).toMatchObject({ candidates: [candidate] });
    expect(decode(encodeResponse([collect(events)], call))).toEqual(events);
  });

  test('of a part without text follow those of the text', () => {
    const scored = (token: string) => ({ logprobsResult: { chosenCandidates: [{ token }] } });
    const { logprobs, finish } = answerOf(
      chunk([{ text: 'a' }], scored('a')),
      chunk([{ text: '' }], scored('<end>')),
    );
    const [spoken, unspoken] = ['a', '<end>'].map((token) => decodeLogprobs(scored(token).logprobsResult));
    expect(logprobs).toEqual(spoken);
    expect(finish.extensions).toEqual({ gemini: { logprobs: unspoken } });
  });
});

describe('usage', () => {
  test('counts tool results with the prompt and thoughts with the answer', () => {
    const wire = {
      promptTokenCount: 5,
      toolUsePromptTokenCount: 2,
      cachedContentTokenCount: 1,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 4,
      totalTokenCount: 14,
      odd: 1,
    };
    expect(decodeUsage(wire)).toStrictEqual({
      inputTokens: 7,
      outputTokens: 7,
      cacheReadTokens: 1,
      reasoningTokens: 4,
      extensions: { gemini: { toolUsePromptTokenCount: 2, odd: 1 } },
    });
    expect(encodeUsage(decodeUsage(wire), false)).toEqual(wire);
  });

  test('that was not reported stays absent, unless the total gives it away', () => {
    expect(decodeUsage({})).toStrictEqual({});
    expect(decodeUsage({ thoughtsTokenCount: 4 })).toStrictEqual({ outputTokens: 4, reasoningTokens: 4 });
    expect(decodeUsage({ promptTokenCount: 5, totalTokenCount: 5 })).toStrictEqual({
      inputTokens: 5,
      outputTokens: 0,
    });
    expect(decodeUsage({ promptTokenCount: 5, totalTokenCount: 6 })).toStrictEqual({ inputTokens: 5 });
    expect(encodeUsage({}, true)).toStrictEqual({});
    expect(encodeUsage({ outputTokens: 3 }, true)).toStrictEqual({
      candidatesTokenCount: 3,
      totalTokenCount: 3,
    });
    expect(encodeUsage({ inputTokens: 3 }, false)).toStrictEqual({ promptTokenCount: 3, totalTokenCount: 3 });
  });

  test('of 0 prompt tokens is no count, and neither is an output of 0 beside it', () => {
    // How LiteLLM 1.106 ends a stream of any server but Google's.
    const usage = { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 };
    const ended = decode(
      chunk([{ text: 'Hello.' }], { finishReason: null, index: 0, safetyRatings: [] }),
      chunk([], { finishReason: 'STOP', index: 0, safetyRatings: [] }, { usageMetadata: usage }),
    );
    expect(ended.at(-1)).toHaveProperty('usage', {});
    expect(decodeUsage(usage)).toStrictEqual({});
    expect(decodeUsage({ ...usage, candidatesTokenCount: 2 })).toStrictEqual({ outputTokens: 2 });
    expect(decodeUsage({ ...usage, promptTokenCount: 5 })).toStrictEqual({ inputTokens: 5, outputTokens: 0 });
  });

  test('never falls below zero, whatever was reported', () => {
    const wrong = { inputTokens: 3, outputTokens: 5, reasoningTokens: 20 };
    const kept = { extensions: { gemini: { toolUsePromptTokenCount: 4 } } };
    expect(encodeUsage({ ...wrong, ...kept }, false)).toMatchObject({
      promptTokenCount: 0,
      candidatesTokenCount: 0,
      thoughtsTokenCount: 20,
    });
  });

  test('names modalities only if they say more than text', () => {
    const details = (promptTokensDetails: Json) =>
      decodeUsage({ promptTokenCount: 5, promptTokensDetails }).extensions;
    expect(details([{ modality: 'TEXT', tokenCount: 5 }])).toBeUndefined();
    expect(details([{ modality: 'AUDIO', tokenCount: 5 }])).toBeDefined();
    expect(decodeUsage({ promptTokensDetails: [] }).extensions).toBeUndefined();
  });

  test('of several choices counts the prompt once', () => {
    const one = { inputTokens: 5, outputTokens: 2 };
    expect(addUsage(one, { inputTokens: 5, outputTokens: 3, reasoningTokens: 1 })).toStrictEqual({
      inputTokens: 5,
      outputTokens: 5,
      reasoningTokens: 1,
    });
    expect(addUsage({}, {})).toStrictEqual({});
    expect(addUsage(one, {})).toStrictEqual(one);
  });
});

describe('an error', () => {
  test('says its detail in the words of the dialect', () => {
    expect(encodeError({ kind: 'unauthenticated', message: 'no' }, { requestId: 'r' })).toEqual({
      status: 401,
      headers: { 'x-should-retry': 'false' },
      body: {
        error: {
          code: 401,
          message: 'no',
          status: 'UNAUTHENTICATED',
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'API_KEY_INVALID',
              domain: 'googleapis.com',
            },
            { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 'r' },
          ],
        },
      },
    });
    expect(encodeErrorBody({ kind: 'saturated', message: 'busy', retryAfterMs: 2_000 })).toEqual({
      error: {
        code: 429,
        message: 'busy',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }],
      },
    });
    expect(encodeErrorBody({ kind: 'internal', message: 'x' }).error).toStrictEqual({
      code: 500,
      message: 'x',
      status: 'INTERNAL',
    });
  });

  test.each([
    ['invalid-request', 'INVALID_ARGUMENT'],
    ['budget-exhausted', 'FAILED_PRECONDITION'],
    ['permission-denied', 'PERMISSION_DENIED'],
    ['not-found', 'NOT_FOUND'],
    ['method-not-allowed', 'UNIMPLEMENTED'],
    ['too-large', 'INVALID_ARGUMENT'],
    ['unsupported-media', 'INVALID_ARGUMENT'],
    ['rate-limited', 'RESOURCE_EXHAUSTED'],
    ['cancelled', 'CANCELLED'],
    ['upstream-failed', 'UNAVAILABLE'],
    ['unavailable', 'UNAVAILABLE'],
    ['deadline-exceeded', 'DEADLINE_EXCEEDED'],
  ] as const)('of kind %s is %s', (kind, status) => {
    expect(encodeErrorBody({ kind, message: 'x' })).toMatchObject({ error: { status } });
  });

  test.each([
    ['INVALID_ARGUMENT', 'invalid-request'],
    ['FAILED_PRECONDITION', 'invalid-request'],
    ['OUT_OF_RANGE', 'invalid-request'],
    ['UNAUTHENTICATED', 'unauthenticated'],
    ['PERMISSION_DENIED', 'permission-denied'],
    ['NOT_FOUND', 'not-found'],
    ['RESOURCE_EXHAUSTED', 'rate-limited'],
    ['UNAVAILABLE', 'unavailable'],
    ['DEADLINE_EXCEEDED', 'deadline-exceeded'],
    ['NEW', 'upstream-failed'],
  ])('in band with the word %s is %s', (status, kind) => {
    expect(decodeStreamError({ error: { status } }).kind).toBe(kind);
  });

  test('in band with a number is read by it if that is the status of a failure', () => {
    const kindOf = (code: Json) => decodeStreamError({ error: { code, status: 'NOT_FOUND' } }).kind;
    expect([kindOf(400), kindOf(599), kindOf('503')]).toEqual([
      'invalid-request',
      'upstream-failed',
      'unavailable',
    ]);
    expect([kindOf(399), kindOf(600), kindOf('x')]).toEqual(['not-found', 'not-found', 'not-found']);
  });

  test('has the wait that its details name', () => {
    const wait = (retryDelay: Json) =>
      decodeError(429, {}, { error: { details: [7, {}, { retryDelay }] } }).retryAfterMs;
    expect([wait('7s'), wait('12.345s'), wait('0s')]).toEqual([7_000, 12_345, 0]);
    for (const odd of ['7', 's7s', '7s!', '1.s', '.5s', 7, '']) expect(wait(odd)).toBeUndefined();
    expect(
      decodeError(429, { 'retry-after': '3' }, { error: { details: [{ retryDelay: '7s' }] } }),
    ).toMatchObject({
      retryAfterMs: 7_000,
    });
  });

  test('never shows a key of any kind', () => {
    const shown = (message: string) => decodeError(400, {}, { error: { message } }).message;
    expect(shown('the key AIzaSy-x_9 is bad')).toBe('the key [key] is bad');
    expect(shown('the key sk-ab_c-9 is bad')).toBe('the key [key] is bad');
    expect(shown("Consumer 'api_key:x.y' is bad")).toBe("Consumer 'api_key:[key]' is bad");
    expect(shown('x'.repeat(500))).toBe('x'.repeat(500));
    expect(shown('x'.repeat(501))).toBe('x'.repeat(500));
    expect(shown('')).toBe('the upstream answered with status 400');
  });

  test('of a model or of a prompt that is too long says so, for its own status only', () => {
    const detailOf = (status: number, message: string) =>
      decodeError(status, {}, { error: { message } }).detail;
    expect(detailOf(404, 'Model x not found')).toBe('model-not-found');
    expect(detailOf(404, 'the remodelled x')).toBeUndefined();
    expect(detailOf(400, 'no such model')).toBeUndefined();
    for (const words of ['token count 9 exceeds', 'maximum number of input tokens', 'the context length']) {
      expect(detailOf(400, words)).toBe('context-length-exceeded');
      expect(detailOf(429, words)).toBeUndefined();
    }
    for (const reason of ['API_KEY_INVALID', 'API_KEY_EXPIRED']) {
      expect(decodeError(400, {}, { error: { details: [{ reason }] } }).kind).toBe('unauthenticated');
    }
    expect(decodeError(400, {}, { error: { details: [{ reason: 'x' }] } }).kind).toBe('invalid-request');
  });
});

describe('arguments', () => {
  test.each<[string, JsonObject]>([
    ['```json\n{"a":1}\n```', { a: 1 }],
    ['```{"a":1}```', { a: 1 }],
    [' ```\n{"a":1}\n``` ', { a: 1 }],
    ['{"a":[1,2, ],}', { a: [1, 2] }],
    ['{"a":"b,}"}', { a: 'b,}' }],
    ['{"a":"x\ny\tz",}', { a: 'x\ny\tz' }],
    ['{"a":"\\",}",}', { a: '",}' }],
    ['```{"a":1}', { a: 1 }],
    ['{"a":1}```', { a: 1 }],
    ['``` json\n{"a":1}\n```', { a: 1 }],
    ['  ', {}],
  ])('%j is repaired', (text, args) => {
    expect(parseArguments(text)).toEqual({ args, isMalformed: false });
  });

  test.each(['``````', '```json```', 'JSON{"a":1}', '[1]', '{"a":1,,}'])('%j is beyond repair', (text) => {
    expect(parseArguments(text)).toEqual({ args: {}, isMalformed: true });
  });
});

test('the path of a model holds its collection once', () => {
  expect(encodePath('org/models/x', false)).toBe('/v1beta/models/org/models/x:generateContent');
  expect(encodePath('models/x', false)).toBe('/v1beta/models/x:generateContent');
  expect(encodePath('a:b\ud800', true)).toBe('/v1beta/models/a:b%EF%BF%BD:streamGenerateContent?alt=sse');
});
