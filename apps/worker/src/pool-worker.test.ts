import { once } from 'node:events';
import type { GenerationEvent } from '@sluice/canonical';
import type { Catalog, Pool } from '@sluice/catalog';
import type { Engine } from '@sluice/engines';
import { createLogger, createWorkerMetrics, renderMetrics, systemClock } from '@sluice/runtime';
import { startOwnRedis, startRedis, type TestRedis, until } from '@sluice/testing';
import {
  createJobQueue,
  type InferenceJob,
  JobRoom,
  openRedis,
  type RedisClient,
  type ReplyPublisher,
} from '@sluice/transport';
import { expect, it } from 'vitest';
import { PoolWorker } from './pool-worker.ts';

/** A pool whose generations run until they are stopped, what it writes, and what it tells its publisher to forget. */
function createPool(connection: RedisClient, changes: Partial<Engine>) {
  const told: string[] = [];
  const written: GenerationEvent[] = [];
  const logged: Record<string, unknown>[] = [];
  const opened = new Set<string>();
  const metrics = createWorkerMetrics();
  const gone = new Map<string, Promise<boolean>>();
  const engine: Engine = {
    slots: 3,
    resume: 'exact',
    start: async () => undefined,
    stop: async () => undefined,
    isReady: () => true,
    availability: () => 'here',
    generate: async (_request, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      }),
    ...changes,
  };
  const pool = new PoolWorker({
    // Only these members are used.
    pool: { name: 'chat' } as Pool,
    catalog: {
      models: new Map([['m', { backendModel: 'm', contextTokens: 9, maxOutputTokens: 9 }]]),
    } as never as Catalog,
    publisher: {
      isGone: (ingress: string) => gone.get(ingress),
      open: ({ requestId }: InferenceJob) => {
        if (opened.has(requestId)) {
          told.push(`${requestId} is open already`);
          return undefined;
        }
        opened.add(requestId);
        const write = (event: GenerationEvent) => void written.push(event);
        return { write, announced: Promise.resolve(), whenClosed: () => undefined };
      },
      forget: ({ requestId, attempt }: InferenceJob) => told.push(`${requestId}-${attempt} forgotten`),
    } as unknown as ReplyPublisher,
    engine,
    redis: connection,
    room: new JobRoom(1_000_000),
    worker: 'w',
    metrics,
    logger: createLogger({
      name: 'test',
      destination: { write: (line) => void logged.push(JSON.parse(line)) },
    }),
    clock: systemClock,
  });
  /** The pool's value of a series; absent while there is none. */
  const measured = async (name: string, labels = ''): Promise<number | undefined> => {
    const { body } = await renderMetrics(metrics.registry);
    const prefix = `sluice_${name}{pool="chat"${labels}} `;
    const line = body.split('\n').find((each) => each.startsWith(prefix));
    return line === undefined ? undefined : Number(line.slice(prefix.length));
  };
  return { pool, told, written, logged, measured, gone };
}

async function connect(redis: TestRedis): Promise<RedisClient> {
  const connection = openRedis(redis.url, { profile: 'worker', name: 'test', onError: () => undefined });
  await until(() => connection.status === 'ready');
  return connection;
}

const createJob = (): InferenceJob => ({
  version: 1,
  requestId: 'r1',
  attempt: 2,
  replyTo: 'i1',
  tenant: 't',
  model: 'm',
  enqueuedAt: Date.now(),
  deadlineAt: Date.now() + 600_000,
  request: { model: 'm', messages: [], sampling: {} },
});
const cancel = { kind: 'cancel', requestId: 'r1', attempt: 2, sequence: 0 } as const;

it('a pool takes no job while its engine is in doubt, and offers no slots while it is away', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  let availability: ReturnType<Engine['availability']> = 'in-doubt';
  let asked = 0;
  const { pool } = createPool(connection, {
    availability: () => {
      asked += 1;
      return availability;
    },
  });
  const queue = createJobQueue(connection);
  await queue.enqueue('chat', createJob(), 1);
  await pool.start(new AbortController().signal);
  await until(() => asked >= 3);
  expect(await queue.depth('chat')).toBe(1);
  expect(pool.presence.slots).toBe(3);
  availability = 'away';
  expect(pool.presence.slots).toBe(0);
  availability = 'here';
  await until(() => pool.receive(cancel));
  await pool.drain(new AbortController().signal);
  connection.disconnect();
});

it('a pool offers no slots while Redis refuses it the connection on which it waits for jobs', async () => {
  await using redis = await startOwnRedis();
  const connection = await connect(redis);
  const { pool } = createPool(connection, {});
  await pool.start(new AbortController().signal);
  const clients = async () =>
    String(await connection.call('CLIENT', 'LIST'))
      .trim()
      .split('\n');
  const waiting = await until(async () => (await clients()).find((each) => each.includes('cmd=bzpopmin')));
  expect(pool.presence.slots).toBe(3);
  await connection.call('CONFIG', 'SET', 'maxclients', (await clients()).length - 1);
  await connection.call('CLIENT', 'KILL', 'ID', /^id=(\d+)/.exec(waiting)?.[1] ?? '');
  await until(() => pool.presence.slots === 0);
  await connection.call('CONFIG', 'SET', 'maxclients', 10_000);
  await until(() => pool.presence.slots === 3);
  await pool.drain(new AbortController().signal);
  connection.disconnect();
});

it('a drain ends at its limit, and the stop after it once the engine has returned', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  const returned = Promise.withResolvers<void>();
  const { pool, told } = createPool(connection, {
    generate: () => returned.promise,
    stop: async () => void told.push('the engine is stopped'),
  });
  await createJobQueue(connection).enqueue('chat', createJob(), 1);
  await pool.start(new AbortController().signal);
  await until(() => pool.receive({ ...cancel, kind: 'acknowledge' }));
  const limit = new AbortController();
  const drained = pool.drain(limit.signal);
  await pool.drain(AbortSignal.abort());
  limit.abort();
  await drained;
  const stopped = pool.stop('drained').then(() => told.push('the pool is stopped'));
  await new Promise(setImmediate);
  expect(told).toEqual([]);
  returned.resolve();
  await stopped;
  expect(told).toEqual(['the engine is stopped', 'the pool is stopped']);
  connection.disconnect();
});

it('a pool offers its slots once its engine has started, forgets what was cancelled, and is drained when the rest has ended', async () => {
  await using redis = await startRedis({ own: true });
  const connection = await connect(redis);
  const stands = Promise.withResolvers<void>();
  const { pool, told } = createPool(connection, { start: () => stands.promise });
  const starting = pool.start(new AbortController().signal);
  expect(pool.presence).toEqual({ slots: 0, resume: 'exact' });
  stands.resolve();
  await starting;
  expect(pool.presence).toEqual({ slots: 3, resume: 'exact' });
  const job = createJob();
  const queue = createJobQueue(connection);
  await queue.enqueue('chat', job, 1);
  expect(pool.receive({ ...cancel, attempt: 1 })).toBe(false);
  await until(() => pool.receive(cancel));
  await until(() => told.length > 0);
  expect(told).toEqual(['r1-2 forgotten']);

  await queue.enqueue('chat', { ...job, requestId: 'r2' }, 1);
  await until(() => pool.receive({ ...cancel, requestId: 'r2', kind: 'acknowledge' }));
  const drained = pool.drain(new AbortController().signal).then(() => told.push('drained'));
  await until(async () => !String(await connection.call('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
  // A limit that is over is not waited for. After this, only the generation holds up the drain above.
  await pool.drain(AbortSignal.abort());
  expect(told).toHaveLength(1);
  pool.receive({ ...cancel, requestId: 'r2' });
  await drained;
  expect(told.slice(1)).toEqual(['r2-2 forgotten', 'drained']);
  await queue.enqueue('chat', { ...job, requestId: 'r3' }, 1);
  expect(await queue.depth('chat')).toBe(1);
  connection.disconnect();
});

it('a pool measures its slots and how many are busy, whether its engine can generate, and its generations', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  let isReady = true;
  const { pool, measured } = createPool(connection, {
    isReady: () => isReady,
    generate: async ({ sampling }, { signal, emit }) => {
      if (sampling.seed === 1) {
        emit({ type: 'text-delta', block: 0, text: 'a' });
        emit({ type: 'finish', reason: 'stop', usage: {} });
      } else if (!signal.aborted) await once(signal, 'abort');
    },
  });
  const outcomes = async () => [
    await measured('generations_total', ',outcome="cancelled"'),
    await measured('generations_total', ',outcome="ok"'),
    await measured('generation_duration_seconds_count'),
    await measured('engine_time_to_first_token_seconds_count'),
  ];
  expect([await measured('slots'), await measured('slots_busy'), await measured('engine_up')]).toEqual([
    3, 0, 1,
  ]);
  expect((await outcomes()).slice(0, 2)).toEqual([0, 0]);
  isReady = false;
  expect(await measured('engine_up')).toBe(0);

  await pool.start(new AbortController().signal);
  const queue = createJobQueue(connection);
  const job = createJob();
  await queue.enqueue('chat', job, 1);
  await until(() => pool.receive({ ...cancel, kind: 'acknowledge' }));
  expect(await measured('slots_busy')).toBe(1);
  pool.receive(cancel);
  await until(async () => (await measured('slots_busy')) === 0);
  expect(await outcomes()).toEqual([1, 0, 1, undefined]);
  await queue.enqueue(
    'chat',
    { ...job, requestId: 'r2', request: { ...job.request, sampling: { seed: 1 } } },
    1,
  );
  await until(async () => (await outcomes())[1] === 1);
  expect(await outcomes()).toEqual([1, 1, 2, 1]);
  await pool.drain(new AbortController().signal);
  connection.disconnect();
});

it('a generation that fails is logged with whose it is, and one that is cancelled is not', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  const { pool, logged, measured } = createPool(connection, {
    generate: async ({ sampling }, { signal, emit, onFailure }) => {
      if (sampling.seed === 1) {
        onFailure?.({ status: 503 });
        emit({ type: 'error', error: { kind: 'unavailable', message: 'gone' } });
      } else if (!signal.aborted) await once(signal, 'abort');
    },
  });
  const queue = createJobQueue(connection);
  const job = createJob();
  await queue.enqueue('chat', { ...job, requestId: 'r2' }, 1);
  await queue.enqueue(
    'chat',
    { ...job, tenant: 'acme', request: { ...job.request, sampling: { seed: 1 } } },
    1,
  );
  await pool.start(new AbortController().signal);
  await until(() => pool.receive({ ...cancel, requestId: 'r2' }));
  await until(async () => (await measured('generation_duration_seconds_count')) === 2);
  expect(logged).toMatchObject([
    {
      level: 'warn',
      msg: 'generation failed',
      requestId: 'r1',
      attempt: 2,
      tenant: 'acme',
      pool: 'chat',
      outcome: 'unavailable',
      status: 503,
    },
  ]);
  await pool.drain(new AbortController().signal);
  connection.disconnect();
});

it('a stop ends what still runs, and says why', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  const { pool, written } = createPool(connection, {});
  await createJobQueue(connection).enqueue('chat', createJob(), 1);
  await pool.start(new AbortController().signal);
  await until(() => pool.receive({ ...cancel, kind: 'acknowledge' }));
  await pool.drain(AbortSignal.abort());
  await pool.stop('drained');
  expect(written).toMatchObject([{ type: 'error', error: { kind: 'unavailable', detail: 'drained' } }]);
  connection.disconnect();
});

it('a job that the queue gives out twice runs once, and can still be cancelled', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  let calls = 0;
  const { pool, told } = createPool(connection, {
    generate: async (_request, { signal }) => {
      calls += 1;
      if (!signal.aborted) await once(signal, 'abort');
    },
  });
  const queue = createJobQueue(connection);
  await queue.enqueue('chat', createJob(), 1);
  await pool.start(new AbortController().signal);
  await until(() => pool.receive({ ...cancel, kind: 'acknowledge' }));
  await queue.enqueue('chat', createJob(), 1);
  await until(() => told.includes('r1 is open already'));
  await new Promise(setImmediate);
  pool.receive(cancel);
  await until(() => told.includes('r1-2 forgotten'));
  expect([calls, pool.receive(cancel)]).toEqual([1, false]);
  await pool.drain(new AbortController().signal);
  connection.disconnect();
});

it('a job of an ingress that is gone is not run, and one of an ingress that was only silent is', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  const ran: string[] = [];
  const { pool, told, gone } = createPool(connection, {
    generate: async (_request, { id, emit }) => {
      ran.push(id);
      emit({ type: 'finish', reason: 'stop', usage: {} });
    },
  });
  gone.set('dead', Promise.resolve(true));
  gone.set('silent', Promise.resolve(false));
  const queue = createJobQueue(connection);
  for (const replyTo of ['dead', 'silent', 'i1'])
    await queue.enqueue('chat', { ...createJob(), requestId: `of-${replyTo}`, replyTo }, 1);
  await pool.start(new AbortController().signal);
  await until(() => ran.length === 2);
  await pool.drain(new AbortController().signal);
  expect(ran.sort()).toEqual(['of-i1', 'of-silent']);
  expect(told).toEqual([]);
  connection.disconnect();
});

it('a job for a model that only other settings know is refused without its engine, and costs nothing', async () => {
  await using redis = await startRedis();
  const connection = await connect(redis);
  const { pool, written, measured } = createPool(connection, {});
  await createJobQueue(connection).enqueue('chat', { ...createJob(), model: 'newer' }, 1);
  await pool.start(new AbortController().signal);
  await until(() => written.length > 0);
  expect(written).toEqual([
    {
      type: 'error',
      error: { kind: 'unavailable', message: 'the worker does not know model newer' },
      usage: { inputTokens: 0, outputTokens: 0 },
    },
  ]);
  expect(await measured('generations_total', ',outcome="unavailable"')).toBe(1);
  expect(pool.receive(cancel)).toBe(false);
  await pool.drain(new AbortController().signal);
  connection.disconnect();
});

it('a drain waits for all that runs, and not only for the first to end', async () => {
  await using redis = await startRedis({ own: true });
  const connection = await connect(redis);
  const { pool, told } = createPool(connection, {});
  const queue = createJobQueue(connection);
  await queue.enqueue('chat', createJob(), 1);
  await queue.enqueue('chat', { ...createJob(), requestId: 'r2' }, 1);
  await pool.start(new AbortController().signal);
  const runs = (requestId: string) => pool.receive({ ...cancel, requestId, kind: 'acknowledge' });
  await until(() => runs('r1') && runs('r2'));
  const drained = pool.drain(new AbortController().signal).then(() => told.push('drained'));
  await until(async () => !String(await connection.call('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
  await pool.drain(AbortSignal.abort());
  pool.receive(cancel);
  await until(() => told.length > 0);
  await new Promise(setImmediate);
  pool.receive({ ...cancel, requestId: 'r2' });
  await drained;
  expect(told).toEqual(['r1-2 forgotten', 'r2-2 forgotten', 'drained']);
  connection.disconnect();
});

it('a drain waits for what the claim that is under way brings', async () => {
  const redis = await startOwnRedis();
  const connection = await connect(redis);
  const control = await connect(redis);
  const { pool, told } = createPool(connection, {});
  await createJobQueue(connection).enqueue('chat', createJob(), 1);
  await control.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  await pool.start(new AbortController().signal);
  const drained = pool.drain(new AbortController().signal).then(() => told.push('drained'));
  await control.call('CLIENT', 'UNPAUSE');
  await until(() => pool.receive(cancel));
  await drained;
  expect(told).toEqual(['r1-2 forgotten', 'drained']);
  connection.disconnect();
  control.disconnect();
  await redis.stop();
});
