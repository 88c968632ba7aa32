import { type Admission, createAdmission } from '@sluice/admission';
import { SluiceError } from '@sluice/canonical';
import { createIngressMetrics } from '@sluice/runtime';
import { startRedis, type TestRedis } from '@sluice/testing';
import { connected, openRedis, type RedisClient, WorkerDirectory } from '@sluice/transport';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Answer, type AnswerPlan } from './answer.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import type { Exchange } from './exchange.ts';
import type { Services } from './services.ts';

let server: TestRedis;
let redis: RedisClient;
let admission: Admission;
beforeAll(async () => {
  server = await startRedis();
  redis = openRedis(server.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(10_000));
  admission = createAdmission({ redis });
});
afterAll(async () => {
  await admission?.close();
  redis?.disconnect();
  await server?.stop();
});

/** A prompt that is too long to go to Redis with the question whether it may. */
const plan = {
  request: {
    model: 'sim',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(50_000) }] }],
    sampling: {},
  },
  call: { choices: 1, stream: true, model: 'sim', requestId: 'r', wire: {} },
  caller: { tenant: 't', keyId: 'k', limits: { key: {}, tenant: {} } },
  model: { id: 'sim', pool: 'sim' },
  pool: { name: 'sim', waitBudgetMs: 1000 },
} as unknown as AnswerPlan;

it('nothing stays reserved of a long prompt whose client leaves while its admission is asked for', async () => {
  let entered = 0;
  const queue = {
    enqueue: () => {
      entered += 1;
      return Promise.reject(new SluiceError('unavailable', 'the queue is not reachable'));
    },
    remove: async () => undefined,
  };
  const now = () => 0;
  const directory = new WorkerDirectory({ now, silenceLimitMs: 1000, onLost: () => undefined });
  directory.slotsOf = () => 4;
  const metrics = createIngressMetrics();
  const options = { queue, directory, metrics, now, resumeAbility: () => 'none', isListening: () => true };
  const orders = { send: () => undefined };
  const dispatcher = new Dispatcher({ ...options, orders } as unknown as DispatcherOptions);
  const services = {
    ...{ admission, queue, directory, dispatcher, metrics, ingress: 'i', requestTimeoutMs: 60_000, now },
    monotonic: now,
  } as unknown as Services;
  const exchange = { requestId: 'r', format: 'openai' } as Exchange;
  const nothing = () => undefined;

  const staying = new Answer(plan, { ...exchange, requestId: 's' }, services, nothing, nothing);
  await expect(staying.begin()).rejects.toThrow('the queue is not reachable');
  const leaving = new Answer(plan, exchange, services, nothing, nothing);
  const begun = leaving.begin();
  leaving.cancel();
  await begun;
  expect(entered).toBe(1);
  expect((await admission.inspect()).open).toBe(0);
});
