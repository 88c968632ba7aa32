import { findGrammarError, type InferenceRequest } from '@sluice/canonical';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askFor, runOf, textOf } from '../../test-runs.ts';
import { quietServices } from '../../test-services.ts';
import { createUpstreamEngine, type UpstreamEngine } from '../engine.ts';
import { upstreamOptions } from '../options.ts';
import { ChatServer } from '../test-chat-server.ts';

let server: ChatServer;
let engine: UpstreamEngine;

function create(dialect = 'openai'): void {
  const baseUrl = dialect === 'openai' ? server.baseUrl : server.baseUrl.replace('/v1', '');
  engine = createUpstreamEngine(upstreamOptions.parse({ baseUrl, dialect }), quietServices);
}

beforeEach(async () => {
  server = await ChatServer.open();
  create();
});
afterEach(async () => {
  await engine.stop();
  await server.close();
});

/** A prompt of this many tokens, by our own estimate. */
function prompt(tokens: number, rest: Partial<InferenceRequest> = {}): InferenceRequest {
  const order = '[[sim tokens=4 seed=3 ttft=0 gap=0]]';
  return askFor(order + 'x'.repeat((tokens - 4) * 4 - order.length), rest);
}

const wish = (maxOutputTokens: number) => ({ sampling: { maxOutputTokens } });
const limits = { contextTokens: 10_000, maxOutputTokens: 9000 };

/** The limit in each request that the server has seen. */
const limitsSeen = () => server.seen.map(({ body }) => body.max_tokens);

describe('the limit that an upstream gets', () => {
  it('leaves room for the prompt in the context of the model', async () => {
    await runOf(engine, prompt(8004), limits);
    await runOf(engine, prompt(8004, wish(32_000)), limits);
    await runOf(engine, prompt(8004, wish(32_000)), { contextTokens: 10_000 });
    await runOf(engine, prompt(8004, wish(100)), limits);
    expect(limitsSeen()).toEqual([1996, 1996, 1996, 100]);
  });

  it('is none if neither the client nor the operator set one', async () => {
    await runOf(engine, prompt(8004), { contextTokens: 10_000 });
    expect(server.seen[0]?.body).not.toHaveProperty('max_tokens');
  });

  it.each([
    [8004, 1996],
    [500, 8192],
  ])('is one of ours for a dialect that demands one (prompt of %i tokens)', async (tokens, limit) => {
    await engine.stop();
    create('anthropic');
    server.answer = (response) => response.writeHead(500).end();
    await runOf(engine, prompt(tokens), { contextTokens: 10_000 });
    expect(limitsSeen()).toEqual([limit]);
  });
});

describe('an upstream that has less room than we estimate', () => {
  const tooLong = (told: string) => ({
    error: { message: `This model's maximum context length is 10000 tokens. ${told}`, code: 400 },
  });

  /** Refuses every request with a limit, as vLLM does if prompt plus limit exceed the context. */
  function refuseLimits(refusal: object = tooLong('However, you requested more.')): void {
    server.answer = (response, { body }) => {
      response.setHeader('content-type', 'application/json');
      if (body.max_tokens !== undefined) {
        response.writeHead(400).end(JSON.stringify(refusal));
        return;
      }
      const choice = { index: 0, message: { role: 'assistant', content: 'fits' }, finish_reason: 'length' };
      response.end(JSON.stringify({ id: 'c', choices: [choice] }));
    };
  }

  it('is asked again without a limit, and gives what it has', async () => {
    refuseLimits();
    const events = await runOf(engine, prompt(8004), limits);
    expect(findGrammarError(events)).toBeUndefined();
    expect(textOf(events)).toBe('fits');
    expect(limitsSeen()).toEqual([1996, undefined]);
  });

  it.each([
    // vLLM 0.32, and an older one.
    'max_tokens=32000 cannot be greater than max_model_len=2048. Please request fewer output tokens. (parameter=max_tokens, value=32000)',
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (32000 > 4096 - 2104).",
    // A limit that cannot be read exactly.
    'max_tokens is too large: 32000. This model supports at most 16k tokens.',
  ])('is asked again without a limit if it does not say which it allows: %s', async (message) => {
    refuseLimits({ error: { message, type: 'BadRequestError', param: 'max_tokens', code: 400 } });
    expect(textOf(await runOf(engine, askFor('hi', wish(32_000))))).toBe('fits');
    expect(limitsSeen()).toEqual([32_000, undefined]);
  });

  it.each([
    [
      'OpenAI',
      16_384,
      'max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.',
    ],
    [
      'Doubao',
      12_288,
      'The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead.',
    ],
    ['DeepSeek', 8192, 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'],
    ['Qwen', 8192, '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]'],
    [
      'Groq',
      16_384,
      '`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model',
    ],
    ['one that groups digits', 16_384, 'max_tokens is too large: 32,000. The model supports at most 16,384.'],
  ])('is asked again with the limit that it allows, in the words of %s', async (_server, most, message) => {
    server.answer = (response, { body }) => {
      const isRefused = Number(body.max_tokens) > most;
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
      const choice = { index: 0, message: { role: 'assistant', content: 'fits' }, finish_reason: 'length' };
      response.end(JSON.stringify(isRefused ? { error: { message } } : { id: 'c', choices: [choice] }));
    };
    expect(textOf(await runOf(engine, askFor('hi', wish(32_000))))).toBe('fits');
    expect(limitsSeen()).toEqual([32_000, most]);
  });

  it('is asked again with the limit that it allows, even if it demands one', async () => {
    await engine.stop();
    create('anthropic');
    const message =
      'max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307';
    server.answer = (response, { body }) => {
      const isRefused = Number(body.max_tokens) > 4096;
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
      const error = { type: 'error', error: { type: 'invalid_request_error', message } };
      const answer = { content: [{ type: 'text', text: 'fits' }], stop_reason: 'max_tokens', usage: {} };
      response.end(JSON.stringify(isRefused ? error : answer));
    };
    expect(textOf(await runOf(engine, askFor('hi', wish(32_000))))).toBe('fits');
    expect(limitsSeen()).toEqual([32_000, 4096]);
  });

  it('is asked again with the limit that it allows, where it tells the first that it does not', async () => {
    await engine.stop();
    create('gemini');
    const message =
      'Unable to submit request because it has a maxOutputTokens value of 65536 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.';
    const limitOf = ({ generationConfig }: { generationConfig?: { maxOutputTokens?: number } }) =>
      generationConfig?.maxOutputTokens;
    server.answer = (response, { body }) => {
      const isRefused = Number(limitOf(body)) > 8192;
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
      const error = { error: { code: 400, message, status: 'INVALID_ARGUMENT' } };
      const candidate = { content: { parts: [{ text: 'fits' }] }, finishReason: 'MAX_TOKENS' };
      response.end(JSON.stringify(isRefused ? error : { candidates: [candidate] }));
    };
    expect(textOf(await runOf(engine, askFor('hi', wish(65_536))))).toBe('fits');
    expect(server.seen.map(({ body }) => limitOf(body))).toEqual([65_536, 8192]);
  });

  it('is asked no more than twice, and its refusal is reported', async () => {
    server.answer = (response) => {
      response.setHeader('content-type', 'application/json');
      response.writeHead(400).end(JSON.stringify(tooLong('Your prompt is too long.')));
    };
    expect(await runOf(engine, prompt(8004), limits)).toMatchObject([
      { type: 'error', error: { kind: 'invalid-request', detail: 'context-length-exceeded' } },
    ]);
    expect(server.seen).toHaveLength(2);
    await runOf(engine, prompt(8004), { contextTokens: 10_000 });
    expect(server.seen).toHaveLength(3);
  });

  it('is not asked again for a run that was aborted', async () => {
    refuseLimits();
    const controller = new AbortController();
    const { answer } = server;
    server.answer = (response, seen) => {
      answer?.(response, seen);
      controller.abort();
    };
    expect(await runOf(engine, prompt(8004), { ...limits, signal: controller.signal })).toEqual([]);
    expect(server.seen).toHaveLength(1);
  });
});

describe('a model that has thought up to the limit before it said anything', () => {
  // OpenAI's models that reason, and Azure's, report that as a refusal.
  const message =
    'Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.';
  const refuse = (status: number) => {
    server.answer = (response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
    };
  };

  it.each(['openai', 'anthropic', 'gemini'])(
    'answers a client of %s with no text, ended by its limit',
    async (clientFormat) => {
      refuse(400);
      const events = await runOf(engine, askFor('quota', wish(1)), { clientFormat });
      expect(findGrammarError(events)).toBeUndefined();
      expect(events).toMatchObject([
        { type: 'start' },
        { type: 'finish', reason: 'length', usage: { inputTokens: 0, outputTokens: 0 } },
      ]);
      expect(server.seen).toHaveLength(1);
    },
  );

  it('is not believed if its server failed', async () => {
    refuse(500);
    expect(await runOf(engine, askFor('quota', wish(1)))).toMatchObject([{ type: 'error' }]);
  });
});
