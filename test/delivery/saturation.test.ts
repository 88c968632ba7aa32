import { until } from '@sluice/testing';
import { openRedis } from '@sluice/transport';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    ingresses: 2,
    settings: {
      pools: { sim: { backend: { engine: 'simulated', slots: 4 }, waitBudgetMs: 1_000, maxWaiting: 4 } },
      models: { sim: { pool: 'sim' } },
    },
  });
});
afterAll(() => gateway.stop());

const ask = (index: number, prompt: string, signal?: AbortSignal): Promise<Answer> =>
  call({
    baseUrl: gateway.baseUrls[index % 2] ?? '',
    apiKey: gateway.apiKey,
    format: formats[index % 3] ?? 'openai',
    prompt,
    stream: index % 2 === 0,
    ...(signal && { signal }),
  });

test('a pool takes its slots and its waiting room, and refuses the rest with 429 and Retry-After', async () => {
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => ask(index, '[[sim tokens=20 ttft=200ms gap=10ms]]')),
  );
  const refused = answers.filter((answer) => answer.status === 429);
  const served = answers.filter((answer) => answer.status === 200);
  expect(served.length + refused.length).toBe(60);
  expect(served.length).toBeGreaterThanOrEqual(4);
  expect(served.every((answer) => answer.isComplete)).toBe(true);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
});

test('a flood is refused before its bodies are read, a count of tokens is not', async () => {
  const blocking = new AbortController();
  const blocked: Promise<unknown>[] = [];
  const post = (path: string, body: string) =>
    fetch(`${gateway.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body,
    });
  const messages = { messages: [{ role: 'user', content: 'hello' }], model: 'sim', max_tokens: 5 };
  await until(async () => {
    // One more each time, until the pool is full.
    blocked.push(ask(0, '[[sim tokens=5 ttft=0 stall@1]]', blocking.signal).catch(() => undefined));
    const [unread, counted] = await Promise.all([
      post('/v1/chat/completions', 'no JSON at all'),
      post('/v1/messages/count_tokens', JSON.stringify(messages)),
    ]);
    expect(counted.status).toBe(200);
    return unread.status === 429;
  });
  blocking.abort();
  await Promise.all(blocked);
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
  // The places come back a moment later, and an ingress does not at once ask again a pool that was full.
  await until(async () => (await ask(0, '[[sim tokens=1 ttft=0]]')).status === 200);
});

test('a client that leaves while it streams frees its slot for one that waits', async () => {
  const cancelledBefore = await gateway.metric('sluice_requests_total', { outcome: 'cancelled' });
  const leaving = Array.from({ length: 4 }, () => new AbortController());
  const streams = leaving.map((controller) => {
    let begin: () => void = () => undefined;
    const began = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const ended = call({
      baseUrl: gateway.baseUrl,
      apiKey: gateway.apiKey,
      format: 'openai',
      prompt: '[[sim tokens=5 ttft=0 gap=1ms stall@3]]',
      stream: true,
      signal: controller.signal,
      onText: (text) => text !== '' && begin(),
    });
    return { began, ended: ended.catch((error: Error) => error.name) };
  });
  await Promise.all(streams.map((stream) => stream.began));
  const waiting = ask(1, '[[sim tokens=3 ttft=0 gap=0]]');
  for (const controller of leaving) controller.abort();
  expect((await waiting).status).toBe(200);
  expect(await Promise.all(streams.map((stream) => stream.ended))).toEqual(Array(4).fill('AbortError'));
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
  expect((await gateway.metric('sluice_requests_total', { outcome: 'cancelled' })) - cancelledBefore).toBe(4);
});

test('a new weight of a tenant counts from its next waiting request on', async () => {
  await gateway.cli('tenants', 'create', 'heavy', '--weight', '2.5');
  const minted = await gateway.cli('keys', 'mint', '--tenant', 'heavy', '--json');
  const apiKey: string = JSON.parse(minted).credential;
  const leaving = new AbortController();
  const stalled = '[[sim tokens=5 ttft=0 stall@1]]';
  const blocked = Array.from({ length: 4 }, () => ask(0, stalled, leaving.signal).catch(() => undefined));
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 4);
  const { baseUrl } = gateway;
  const asked = { baseUrl, apiKey, format: formats[0] ?? 'openai', prompt: stalled, stream: true };
  const waiting = call({ ...asked, signal: leaving.signal }).catch(() => undefined);
  const redis = openRedis(gateway.redisUrl, { profile: 'command', name: 'test', onError: () => undefined });
  const weights = 'sluice:{p:sim}:busy:weights';
  await until(async () => (await redis.hget(weights, 'sluice:{p:sim}:leases:of:heavy')) === '2.5');
  redis.disconnect();
  leaving.abort();
  await Promise.all([...blocked, waiting]);
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
});

test('a client that leaves while it waits takes its job out of the queue', async () => {
  const blocking = new AbortController();
  const blocked = Array.from({ length: 4 }, () =>
    ask(0, '[[sim tokens=5 ttft=0 stall@1]]', blocking.signal).catch((error: Error) => error.name),
  );
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 4);
  const leaving = new AbortController();
  const queued = ask(1, '[[sim tokens=3]]', leaving.signal).catch((error: Error) => error.name);
  await until(async () => (await gateway.metric('sluice_queue_depth')) > 0);
  leaving.abort();
  expect(await queued).toBe('AbortError');
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 4);
  await until(async () => (await gateway.metric('sluice_queue_depth')) === 0);
  blocking.abort();
  await Promise.all(blocked);
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
});
