import type { Catalog, Pool } from '@sluice/catalog';
import type { Engine } from '@sluice/engines';
import { createLogger, createWorkerMetrics, systemClock } from '@sluice/runtime';
import { startRedis, until } from '@sluice/testing';
import {
  createJobQueue,
  type InferenceJob,
  JobRoom,
  openRedis,
  type ReplyPublisher,
} from '@sluice/transport';
import { expect, it } from 'vitest';
import { PoolWorker } from './pool-worker.ts';

it('a pool offers its slots once its engine has started, forgets what was cancelled, and is drained when the rest has ended', async () => {
  await using redis = await startRedis();
  const connection = openRedis(redis.url, { profile: 'worker', name: 'test', onError: () => undefined });
  await until(() => connection.status === 'ready');
  const told: string[] = [];
  const stands = Promise.withResolvers<void>();
  const engine: Engine = {
    slots: 3,
    resume: 'exact',
    start: () => stands.promise,
    stop: async () => undefined,
    isReady: () => true,
    availability: () => 'here',
    generate: async (_request, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      }),
  };
  const pool = new PoolWorker({
    // Only these members are used.
    pool: { name: 'chat' } as Pool,
    catalog: {
      models: new Map([['m', { backendModel: 'm', contextTokens: 9, maxOutputTokens: 9 }]]),
    } as never as Catalog,
    publisher: {
      open: () => ({ write: () => undefined, announced: Promise.resolve(), whenAbandoned: () => undefined }),
      forget: ({ requestId, attempt }: InferenceJob) => told.push(`${requestId}-${attempt} forgotten`),
    } as unknown as ReplyPublisher,
    engine,
    redis: connection,
    room: new JobRoom(1_000),
    metrics: createWorkerMetrics(),
    logger: createLogger({ name: 'test', level: 'silent' }),
    clock: systemClock,
  });
  const starting = pool.start(new AbortController().signal);
  expect(pool.presence).toEqual({ slots: 0, resume: 'exact' });
  stands.resolve();
  await starting;
  expect(pool.presence).toEqual({ slots: 3, resume: 'exact' });
  const job: InferenceJob = {
    version: 1,
    requestId: 'r1',
    attempt: 2,
    replyTo: 'i1',
    tenant: 't',
    model: 'm',
    enqueuedAt: Date.now(),
    deadlineAt: Date.now() + 600_000,
    request: { model: 'm', messages: [], sampling: {} },
  };
  const queue = createJobQueue(connection);
  await queue.enqueue('chat', job, 1);
  const cancel = { kind: 'cancel', requestId: 'r1', attempt: 2, sequence: 0 } as const;
  expect(pool.receive({ ...cancel, attempt: 1 })).toBe(false);
  await until(() => pool.receive(cancel));
  await until(() => told.length > 0);
  expect(told).toEqual(['r1-2 forgotten']);

  await queue.enqueue('chat', { ...job, requestId: 'r2' }, 1);
  await until(() => pool.receive({ ...cancel, requestId: 'r2', kind: 'acknowledge' }));
  const drained = pool.drain(new AbortController().signal).then(() => told.push('drained'));
  await until(async () => !String(await connection.call('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
  expect(told).toHaveLength(1);
  pool.receive({ ...cancel, requestId: 'r2' });
  await drained;
  expect(told.slice(1)).toEqual(['r2-2 forgotten', 'drained']);
  await queue.enqueue('chat', { ...job, requestId: 'r3' }, 1);
  expect(await queue.depth('chat')).toBe(1);
  connection.disconnect();
});
