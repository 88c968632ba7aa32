import { connect } from 'node:net';
import type { Claim } from '@sluice/admission';
import { createIngressMetrics, createLogger } from '@sluice/runtime';
import type { Caller } from '@sluice/tenancy';
import { startRedis, type TestRedis, until } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRoutedServer } from '../answers/test-server.ts';
import type { Exchange } from '../exchange.ts';
import { PromptRoom } from '../guards/prompt-room.ts';
import type { Services } from '../services.ts';
import { findModel, routeInference } from './inference.ts';
import { openTestApp } from './test-app.ts';

it('a client that leaves while its key is looked up keeps no room for its prompt', async () => {
  const asked = Promise.withResolvers<void>();
  const found = Promise.withResolvers<Caller>();
  const logged: string[] = [];
  // Room for two prompts like this one, of which a tenant may have one.
  const promptRoom = new PromptRoom(3_500);
  const body = JSON.stringify({ model: 'sim', messages: [], pad: 'x'.repeat(150) });
  const services = {
    metrics: createIngressMetrics(),
    logger: createLogger({ name: 'test', destination: { write: (line) => logged.push(line) } }),
    monotonic: () => 0,
    now: () => 0,
    stallLimitMs: 1_000,
    promptRoom,
    newRequestId: () => 'r1',
    overload: { check: () => undefined },
    dispatcher: { checkHearing: () => undefined },
    admission: { checkPools: () => undefined },
    catalog: { pools: new Map() },
    keys: {
      recall: () => undefined,
      authenticate: () => {
        asked.resolve();
        return found.promise;
      },
    },
  } as unknown as Services;
  const server = await openRoutedServer(routeInference(services));

  const client = connect(server.port, '127.0.0.1');
  client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n' +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
  await asked.promise;
  client.destroy();
  await until(() => logged.some((line) => line.includes('"status":499,"outcome":"cancelled"')));
  found.resolve({ tenant: 'acme' } as Caller);
  await new Promise(setImmediate);
  expect(() => promptRoom.take({} as Exchange, 'acme', 690)).not.toThrow();
  server.close();
});

it('a key that may use a model may use it by every name, and one that may use a name by that alone', () => {
  const model = { id: 'sim', pool: 'p' };
  // All that is asked of a catalog and of a caller.
  const services = { catalog: { resolve: () => model, pools: new Map([['p', {}]]) } } as unknown as Services;
  const callerOf = (allowed: string) => ({ allows: (name: string) => name === allowed }) as Caller;
  expect(findModel('gpt-4', callerOf('sim'), services).model).toBe(model);
  expect(findModel('gpt-4', callerOf('gpt-4'), services).model).toBe(model);
  expect(() => findModel('gpt-5', callerOf('gpt-4'), services)).toThrow('may not use the model sim');
});

describe.each([
  ['the fast path', ''],
  // The fast path leaves an escape to others.
  ["Node's own server", '?escaped=%20'],
])('before its body is read, over %s', (_way, query) => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  const open = async (turnMs = 0) => {
    const settings = {
      pools: { chat: { backend: { engine: 'simulated' } } },
      models: { sim: { pool: 'chat' } },
    };
    const app = await openTestApp(redis.url, { settings, turnMs });
    const post = (path: string, body: string) => app.call(path + query, { method: 'POST', body });
    return {
      ...app,
      /** Whoever reads this body refuses it as none. */
      generate: async () => (await post('/v1/chat/completions', 'no JSON at all')).text(),
      count: async () => {
        const prompt = { model: 'sim', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] };
        return (await post('/v1/messages/count_tokens', JSON.stringify(prompt))).json();
      },
    };
  };

  it('a generation is not refused if nothing is against it', async () => {
    await using app = await open();
    expect(await app.generate()).toContain('JSON');
  });

  it('a generation is refused by an ingress that is too slow', async () => {
    await using app = await open(1_000);
    await until(async () => (await app.generate()).includes('more requests than it can keep up with'));
  });

  it('a generation is refused by an ingress that no answer reaches, and a count of tokens is not', async () => {
    await using app = await open();
    await app.deafen(2_000);
    expect(await app.generate()).toContain('no answer reaches the gateway');
    expect(await app.count()).toEqual({ input_tokens: expect.any(Number) });
  });

  it('a generation is refused while every pool is known to be full, and a count of tokens is not', async () => {
    await using app = await open();
    const claim = (requestId: string): Claim => ({
      ...{ requestId, tenant: 'acme', keyId: 'k', weight: 1, model: 'sim', pool: 'chat', jobs: 1 },
      estimatedInputTokens: 1,
      limits: { tenant: {}, key: {} },
      poolPolicy: { slots: 1, waitBudgetMs: 0, maxWaiting: 0 },
    });
    const ticket = await app.services.admission.admit(claim('first'));
    await expect(app.services.admission.admit(claim('second'))).rejects.toThrow('is saturated');
    expect(await app.generate()).toContain('pool chat is saturated');
    expect(await app.count()).toEqual({ input_tokens: expect.any(Number) });
    await ticket.settle({});
  });
});
