import { type ChatScript, type ChatServer, startChatServer, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

const answers =
  (text: string): ChatScript =>
  async (exchange) => {
    await exchange.text(text);
    await exchange.finish('stop', { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
  };
const fails =
  (status: number, headers: Record<string, string> = {}): ChatScript =>
  (exchange) =>
    exchange.fail(status, { error: { message: `as the server says: ${status}` } }, headers);

let local: ChatServer;
let remote: ChatServer;
let gateway: Gateway;
let redis: Redis;
beforeAll(async () => {
  [local, remote] = await Promise.all([startChatServer(), startChatServer()]);
  const pool = ({ baseUrl }: ChatServer, slots: number) => ({
    backend: { engine: 'upstream', baseUrl, slots },
    maxWaiting: 0,
  });
  gateway = await startGateway({
    settings: {
      pools: {
        local: pool(local, 1),
        remote: pool(remote, 8),
        // Nothing listens there, so no worker ever serves this pool.
        gone: { backend: { engine: 'upstream', baseUrl: 'http://127.0.0.1:1/v1', startTimeoutMs: 1 } },
      },
      models: {
        small: { pool: 'local', fallbacks: ['mittel-größe', 'large'] },
        'mittel-größe': { pool: 'local', backendModel: 'medium' },
        large: { pool: 'remote' },
        alone: { pool: 'local' },
        orphan: { pool: 'gone', fallbacks: ['large'] },
        lost: { pool: 'gone' },
        stranded: { pool: 'local', fallbacks: ['lost'] },
        twins: { pool: 'remote', backendModel: 'shaky', fallbacks: ['large'] },
        hasty: { pool: 'remote', requestTimeoutMs: 300 },
        patient: { pool: 'local', fallbacks: ['hasty', 'large'] },
      },
    },
  });
  redis = new Redis(gateway.redisUrl);
  await until(async () => (await gateway.metric('sluice_pool_slots', { pool: 'remote' })) > 0);
  await until(async () => (await gateway.metric('sluice_pool_slots', { pool: 'local' })) > 0);
});
beforeEach(() => {
  remote.answerWith(answers('from afar'));
});
afterEach(async () => {
  // What one test reserved would refuse the next one. The gauge of requests in flight does not tell: a failure can be
  // faster than the reply of admission, from which on a request counts.
  await until(async () => (await redis.zcard('sluice:{p:local}:open')) === 0);
});
afterAll(async () => {
  redis?.disconnect();
  await gateway?.stop();
  await local?.stop();
  await remote?.stop();
});

interface Asked {
  model?: string;
  stream?: boolean;
  key?: string;
  n?: number;
  /** Called with the first bytes of the answer. */
  onHead?(): void;
}

async function ask({ model = 'small', stream = false, key = gateway.apiKey, n = 1, onHead }: Asked = {}) {
  const response = await fetch(`${gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, n, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  onHead?.();
  return {
    status: response.status,
    served: response.headers.get('x-sluice-model'),
    retryAfter: response.headers.get('retry-after'),
    requestId: response.headers.get('x-request-id') ?? '',
    text: await response.text(),
  };
}

/** Asks for a stream of generate content, with a tool. */
const askGenerate = (model: string) =>
  fetch(`${gateway.baseUrl}/v1beta/models/${model}:streamGenerateContent?alt=sse`, {
    method: 'POST',
    headers: { 'x-goog-api-key': gateway.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      contents: [{ parts: [{ text: 'Hello' }] }],
      tools: [{ functionDeclarations: [{ name: 'look' }] }],
    }),
  });

/** The models that a server was asked for, by the calls since `from`. */
const modelsAsked = ({ exchanges }: ChatServer, from = 0) =>
  exchanges.slice(from).map(({ request }) => request.body.model);

/** The line that the ingress wrote about a request, as soon as it is there. */
const lineOf = (requestId: string): Promise<Record<string, unknown>> =>
  until(() =>
    gateway.ingresses[0]?.lines
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line.msg === 'request' && line.requestId === requestId),
  );

// The first request of this Redis: it has no script to settle with yet, so that a place comes back a round trip later.
it.each([false, true])('the next model answers for one that fails (stream: %s)', async (stream) => {
  const before = await gateway.metric('sluice_fallbacks_total', { model: 'small', fallback: 'large' });
  const from = local.exchanges.length;
  local.answerWith(fails(500));
  const { status, served, text, requestId } = await ask({ stream });
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  expect(text).toContain('from afar');
  expect(text).toContain('"model":"small"');
  expect(text).not.toContain('the server says');
  expect(modelsAsked(local, from)).toEqual(['small', 'medium']);
  expect(await lineOf(requestId)).toMatchObject({
    ...{ outcome: 'ok', status: 200, model: 'large', askedModel: 'small' },
    ...{ attempts: 1, inputTokens: 3, outputTokens: 2 },
  });
  const after = await gateway.metric('sluice_fallbacks_total', { model: 'small', fallback: 'large' });
  expect(after - before).toBe(1);
});

it('a model that answers by itself has no such header and no other name in the log', async () => {
  local.answerWith(answers('from here'));
  const { served, text, requestId } = await ask();
  expect(served).toBeNull();
  expect(text).toContain('from here');
  expect(await lineOf(requestId)).not.toHaveProperty('askedModel');
});

it('the name of a model that answers instead is a header, whatever letters it has', async () => {
  local.answerWith(async (exchange) => {
    if (exchange.request.body.model === 'small') return fails(503)(exchange);
    return answers('from the next')(exchange);
  });
  const { status, served, text } = await ask();
  expect({ status, served }).toEqual({ status: 200, served: 'mittel-gr%C3%B6%C3%9Fe' });
  expect(text).toContain('from the next');
});

it('a full pool overflows into the next one', async () => {
  const from = local.exchanges.length;
  const held = Promise.withResolvers<void>();
  local.answerWith(async (exchange) => {
    await held.promise;
    await answers('from here')(exchange);
  });
  const first = ask({ stream: true });
  await local.arrival(from + 1);
  const second = await ask({ stream: true });
  expect(second).toMatchObject({ status: 200, served: 'large' });
  expect(second.text).toContain('from afar');
  expect(await ask({ model: 'alone' })).toMatchObject({ status: 429 });
  held.resolve();
  expect((await first).text).toContain('from here');
});

it('a model without workers has a fallback that answers', async () => {
  const { status, served, text } = await ask({ model: 'orphan' });
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  expect(text).toContain('from afar');
});

it('an answer that broke off before the client saw it is given by the next model', async () => {
  local.answerWith(async (exchange) => {
    const choices = [{ index: 0, delta: { role: 'assistant', content: '', mood: 'of the first' } }];
    await exchange.raw(`data: ${JSON.stringify({ system_fingerprint: 'fp_first', choices })}\n\n`);
    exchange.cut();
  });
  const { status, served, text } = await ask({ stream: true });
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  expect(text.match(/"role":"assistant"/g)).toHaveLength(1);
  expect(text).toContain('from afar');
  expect(text).not.toContain('first');
});

it('an answer of nothing but a reason of its own is none, whatever the model before it said', async () => {
  local.answerWith(async (exchange) => {
    if (exchange.request.body.model === 'medium') return exchange.finish('malformed_function_call');
    await exchange.text('half');
    exchange.cut();
  });
  const from = local.exchanges.length;
  const { status, served, text } = await ask();
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  expect(text).toContain('from afar');
  expect(modelsAsked(local, from)).toEqual(['small', 'medium']);
});

it.each([false, true])(
  'an answer of nothing but a reason of its own is none (stream: %s)',
  async (stream) => {
    const shown = Promise.withResolvers<void>();
    const ends =
      (text: string): ChatScript =>
      async (exchange) => {
        await exchange.reasoning('Let me see');
        if (stream) await shown.promise;
        if (text !== '') await exchange.text(text);
        await exchange.finish('malformed_function_call');
      };
    local.answerWith(ends(''));
    // A stream of chat completions shows the thinking.
    const answered = await ask({ stream, onHead: shown.resolve });
    expect(answered).toMatchObject({ status: 200, served: stream ? null : 'large' });
    if (!stream) expect(answered.text).toContain('from afar');
    expect(await ask({ stream, model: 'alone' })).toMatchObject({ status: 200, served: null });
    local.answerWith(ends('half'));
    const { served, text } = await ask({ stream });
    expect(served).toBeNull();
    expect(text).toContain('half');
    local.answerWith((exchange) => exchange.finish('malformed_function_call'));
    remote.answerWith(fails(500));
    expect(await ask({ stream })).toMatchObject({
      status: 502,
      text: expect.stringContaining('the model ended without an answer: malformed_function_call'),
    });
  },
);

it('nor is a word of Gemini, which a client of generate content gets where no other model may answer', async () => {
  local.answerWith((exchange) => exchange.finish('MALFORMED_FUNCTION_CALL'));
  const response = await askGenerate('small');
  expect([response.status, response.headers.get('x-sluice-model')]).toEqual([200, 'large']);
  expect(await response.text()).toContain('from afar');
  const alone = await askGenerate('alone');
  expect([alone.status, await alone.text()]).toEqual([
    200,
    expect.stringContaining('MALFORMED_FUNCTION_CALL'),
  ]);
});

it('several whole answers are all given by the next model if one of them fails after another has ended', async () => {
  const ended = Promise.withResolvers<void>();
  let isFirst = true;
  remote.answerWith(async (exchange) => {
    if (exchange.request.body.model === 'large') return answers('from the next')(exchange);
    if (!isFirst) {
      await ended.promise;
      return fails(500)(exchange);
    }
    isFirst = false;
    await answers('of the first')(exchange);
    ended.resolve();
  });
  const { status, served, text } = await ask({ model: 'twins', n: 2 });
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  expect(text.match(/from the next/g)).toHaveLength(2);
  expect(text).not.toContain('of the first');
});

it('a stream that fails after its first token ends with that error, and no other model is asked', async () => {
  const asked = remote.exchanges.length;
  local.answerWith(async (exchange) => {
    await exchange.text('half of');
    exchange.cut();
  });
  const { status, served, text } = await ask({ stream: true });
  expect({ status, served }).toEqual({ status: 200, served: null });
  expect(text).toContain('half of');
  expect(text).toContain('"error"');
  expect(remote.exchanges).toHaveLength(asked);
});

it('a model that fails before its client would see anything of it has given nothing', async () => {
  local.answerWith(async (exchange) => {
    await exchange.reasoning('Let me see');
    await exchange.toolCall({ index: 0, id: 'call_1', name: 'look', arguments: ['{"at":'] });
    exchange.cut();
  });
  // Generate content shows thinking to those who ask for it, and calls when they are whole.
  const response = await askGenerate('small');
  expect([response.status, response.headers.get('x-sluice-model')]).toEqual([200, 'large']);
  const text = await response.text();
  expect(text).toContain('from afar');
  expect(text).not.toContain('look');
  expect((await askGenerate('alone')).status).toBe(502);
});

it('thinking that a client of messages does not want to see is nothing, either', async () => {
  local.answerWith(async (exchange) => {
    await exchange.reasoning('Let me see');
    exchange.cut();
  });
  const askMessages = (model: string) =>
    fetch(`${gateway.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model, stream: true, max_tokens: 2_000 },
        thinking: { type: 'enabled', budget_tokens: 1_024, display: 'omitted' },
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    });
  const response = await askMessages('small');
  expect([response.status, response.headers.get('x-sluice-model')]).toEqual([200, 'large']);
  expect(await response.text()).toMatch(/"index":0,"delta":\{"type":"text_delta","text":"from afar"\}/);
  expect((await askMessages('alone')).status).toBe(502);
});

it('a mistake of the client is answered by the model that it asked for', async () => {
  const asked = remote.exchanges.length;
  local.answerWith(fails(400));
  const { status, text, served } = await ask();
  expect({ status, served }).toEqual({ status: 400, served: null });
  expect(text).toContain('as the server says: 400');
  expect(remote.exchanges).toHaveLength(asked);
});

it.each([false, true])('if no model answers, the client hears of its own (stream: %s)', async (stream) => {
  local.answerWith(async (exchange) => {
    if (exchange.request.body.model === 'small') return fails(429)(exchange);
    return fails(500)(exchange);
  });
  // What a fallback does not take says nothing about the model that was asked for.
  remote.answerWith(fails(400));
  const { status, text, served, requestId } = await ask({ stream });
  expect({ status, served }).toEqual({ status: 429, served: null });
  expect(text).toContain('as the server says: 429');
  expect(await lineOf(requestId)).toMatchObject({ model: 'small', outcome: 'rate-limited' });
});

it('if all models are full, the client may come again when the first of them has room', async () => {
  local.answerWith(async (exchange) => {
    const wait = exchange.request.body.model === 'small' ? '30' : '50';
    return fails(429, { 'retry-after': wait })(exchange);
  });
  remote.answerWith(fails(429, { 'retry-after': '7' }));
  expect(await ask()).toMatchObject({ status: 429, served: null, retryAfter: '7' });
  remote.answerWith(fails(503, { 'retry-after': '2' }));
  expect(await ask()).toMatchObject({ status: 429, served: null, retryAfter: '30' });
});

it('a limit of the caller is not got around, and a failed model gives its place back at once', async () => {
  await gateway.cli('tenants', 'create', 'narrow');
  await gateway.cli('limits', 'set', '--tenant', 'narrow', 'concurrency=1', 'request-rate=2/1h');
  const key = /sk-\S+/.exec(await gateway.cli('keys', 'mint', '--tenant', 'narrow'))?.[0] ?? '';
  local.answerWith(fails(500));
  // A request counts once, whatever models were begun, and also if the first one refused it.
  expect(await ask({ key })).toMatchObject({ status: 200, served: 'large' });
  expect(await ask({ key, model: 'orphan' })).toMatchObject({ status: 200, served: 'large' });
  const turns = await gateway.metric('sluice_fallbacks_total');
  expect(await ask({ key })).toMatchObject({ status: 429, served: null });
  expect(await gateway.metric('sluice_fallbacks_total')).toBe(turns);
});

it('a fallback whose own time is over gives way to the next, while that of the request is not', async () => {
  local.answerWith(fails(500));
  remote.answerWith(async (exchange) => {
    if (exchange.request.body.model === 'hasty') return exchange.closed;
    return answers('in time')(exchange);
  });
  const { status, served, text } = await ask({ model: 'patient' });
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  expect(text).toContain('in time');
});

it('a request that no other model may answer is told and logged as the first one ended', async () => {
  local.answerWith(fails(500));
  const { status, served, text, requestId } = await ask({ model: 'stranded' });
  expect({ status, served }).toEqual({ status: 502, served: null });
  expect(text).toContain('as the server says: 500');
  expect(await lineOf(requestId)).toMatchObject({
    model: 'stranded',
    outcome: 'upstream-failed',
    attempts: 1,
    worker: expect.any(String),
    queueWaitMs: expect.any(Number),
  });
});

it('what a model has spent that gave no answer is counted and logged as its own', async () => {
  const counted = (model: string) =>
    Promise.all(
      ['input', 'output'].map((direction) => gateway.metric('sluice_tokens_total', { model, direction })),
    );
  const before = { small: await counted('small'), large: await counted('large') };
  local.answerWith(async (exchange) => {
    if (exchange.request.body.model !== 'small') return fails(500)(exchange);
    for (const word of ['one ', 'two ']) await exchange.text(word);
    exchange.cut();
  });
  const { status, served, requestId } = await ask();
  expect({ status, served }).toEqual({ status: 200, served: 'large' });
  // The prompt of the model that broke off is charged by its estimate.
  expect(await lineOf(requestId)).toMatchObject({
    ...{ model: 'large', inputTokens: 6 + 3, outputTokens: 2 + 2 },
    byModel: [
      { model: 'small', inputTokens: 6, outputTokens: 2 },
      { model: 'large', inputTokens: 3, outputTokens: 2 },
    ],
  });
  const spent = async (model: 'small' | 'large') => {
    const after = await counted(model);
    return after.map((tokens, index) => tokens - (before[model][index] ?? 0));
  };
  expect({ small: await spent('small'), large: await spent('large') }).toEqual({
    small: [6, 2],
    large: [3, 2],
  });
});

it('a client that leaves during the turn leaves nothing behind', async () => {
  const held = Promise.withResolvers<void>();
  remote.answerWith(async (exchange) => {
    await held.promise;
    await answers('too late')(exchange);
  });
  local.answerWith(fails(500));
  const from = remote.exchanges.length;
  const leaving = new AbortController();
  const answer = fetch(`${gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'Hello' }] }),
    signal: leaving.signal,
  });
  const exchange = await remote.arrival(from + 1);
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await exchange.closed;
  expect(exchange.wasAborted).toBe(true);
  held.resolve();
});

it('a request that takes workers down is not tried with another model', async () => {
  // Both pools keep a worker, however long those that are killed take to start again.
  await Promise.all([gateway.startWorker(), gateway.startWorker()]);
  await until(async () => (await gateway.metric('sluice_pool_slots', { pool: 'local' })) === 3);
  await until(async () => (await gateway.metric('sluice_pool_slots', { pool: 'remote' })) === 24);
  const [from, asked] = [local.exchanges.length, remote.exchanges.length];
  local.answerWith((exchange) => exchange.closed);
  const answer = ask();
  for (const attempt of [1, 2]) {
    await local.arrival(from + attempt);
    process.kill((await gateway.workerAtWork()).pid, 'SIGKILL');
  }
  const { status, served, text } = await answer;
  expect({ status, served }).toEqual({ status: 502, served: null });
  expect(text).toContain('lost with several workers');
  expect(remote.exchanges).toHaveLength(asked);
});
