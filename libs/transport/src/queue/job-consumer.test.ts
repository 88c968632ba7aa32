import { ask, type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { queuePrefix } from '../names.ts';
import { Connections, createJob } from '../transport-suite.ts';
import type { InferenceJob } from './job.ts';
import { JobConsumer } from './job-consumer.ts';
import { createJobQueue, type JobQueue } from './job-queue.ts';
import { JobRoom } from './job-room.ts';
import { poolQueueKeys } from './queue-scripts.ts';

let server: OwnTestRedis;
let raw: Redis;
const connections = new Connections();
const consumers: JobConsumer[] = [];

beforeAll(async () => {
  server = await startOwnRedis();
  raw = new Redis(server.url);
});
afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
  connections.close();
  await raw.flushall();
});
afterAll(async () => {
  raw.disconnect();
  await server.stop();
});

it('a consumer says that Redis refuses it the connection on which it waits for jobs, until it gets it', async () => {
  const { createConsumer, errors } = await createBench('refused', 4);
  const consumer = await createConsumer();
  consumer.start();
  await until(async () => String(await raw.client('LIST')).includes('cmd=bzpopmin'));
  expect(consumer.isDeaf()).toBe(false);
  const clients = String(await raw.client('LIST'))
    .trim()
    .split('\n');
  const allow = (most: number) => raw.config('SET', 'maxclients', most);
  onTestFinished(() => void allow(10_000));
  await allow(clients.length - 1);
  const [, id = ''] = /^id=(\d+)/.exec(clients.find((client) => client.includes('cmd=bzpopmin')) ?? '') ?? [];
  await raw.client('KILL', 'ID', id);
  await until(() => consumer.isDeaf());
  expect(consumer.isDeaf()).toBe(true);
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('beyond its maxclients: ')]);
  await allow(10_000);
  await until(() => !consumer.isDeaf());
});

/** A pool whose generations end when the test decides. */
async function createBench(pool: string, slots: number) {
  const queue = createJobQueue(await connections.connect(server.url, 'command'));
  const running = new Map<string, () => void>();
  const taken: string[] = [];
  const errors: Error[] = [];
  let most = 0;
  const createConsumer = async (isOpen = () => true, room?: JobRoom): Promise<JobConsumer> => {
    const consumer = new JobConsumer({
      ...(room && { room }),
      isOpen,
      pool,
      slots,
      redis: await connections.connect(server.url, 'worker'),
      run: (job: InferenceJob) =>
        new Promise((resolve) => {
          taken.push(job.requestId);
          running.set(job.requestId, resolve);
          most = Math.max(most, running.size);
        }),
      onError: (error) => errors.push(error),
    });
    consumers.push(consumer);
    return consumer;
  };
  return {
    queue,
    taken,
    errors,
    running,
    most: () => most,
    createConsumer,
    add: async (count: number, prefix = 'j') => {
      await Promise.all(
        Array.from({ length: count }, (_, index) => queue.enqueue(pool, createJob(`${prefix}${index}`), 1)),
      );
    },
    finish: (id: string) => {
      running.get(id)?.();
      running.delete(id);
    },
    finishAll: () => {
      for (const [id, end] of running) {
        running.delete(id);
        end();
      }
    },
    keys: () => raw.keys(`${queuePrefix(pool)}*`),
  };
}

async function waitingClients(): Promise<number> {
  return String(await raw.call('CLIENT', 'LIST')).split('cmd=bzpopmin').length - 1;
}

async function countClients(): Promise<number> {
  return String(await raw.call('CLIENT', 'LIST'))
    .trim()
    .split('\n').length;
}

it('a consumer tells while the answer to a claim takes long, and not while it just waits', async () => {
  const bench = await createBench('late', 2);
  const consumer = await bench.createConsumer();
  consumer.start();
  await until(async () => (await waitingClients()) === 1);
  expect(consumer.isReading).toBe(false);
  server.suspend();
  try {
    await until(() => consumer.isReading);
  } finally {
    server.resume();
  }
  await bench.add(1);
  await until(() => bench.taken.length === 1);
  expect(consumer.isReading).toBe(false);
});

it('a consumer whose slots are all taken tells of no claim under way, however long that lasts', async () => {
  const bench = await createBench('long', 1);
  const consumer = await bench.createConsumer();
  await bench.add(1);
  consumer.start();
  await until(() => bench.taken.length === 1);
  const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_000);
  expect(consumer.isReading).toBe(false);
  later.mockRestore();
});

describe('slots', () => {
  it('are filled, and never more than that', async () => {
    const bench = await createBench('slots', 3);
    await bench.add(30);
    const consumer = await bench.createConsumer();
    consumer.start();
    await until(() => bench.running.size === 3);
    for (let round = 0; bench.taken.length < 30 || bench.running.size > 0; round += 1) {
      const [oldest] = bench.running.keys();
      if (oldest !== undefined) bench.finish(oldest);
      await new Promise((resolve) => setImmediate(resolve));
      expect(consumer.busy).toBeLessThanOrEqual(3);
      if (round > 100_000) throw new Error('it stands still');
    }
    expect(bench.most()).toBe(3);
    expect(new Set(bench.taken).size).toBe(30);
  });

  it.each([
    [2_000_000, 2],
    // A job that is larger than the room has to run, too.
    [1_000, 1],
  ])('stay free while the jobs that run fill a room of %d bytes', async (bytes, most) => {
    const bench = await createBench('memory', 8);
    const room = new JobRoom(bytes);
    for (const id of ['a', 'b', 'c', 'd']) {
      // V8 keeps two bytes for each of these characters.
      const message = {
        role: 'user' as const,
        content: [{ type: 'text' as const, text: '—'.repeat(800_000) }],
      };
      const request = { model: 'simulated', messages: [message], sampling: {} };
      await bench.queue.enqueue('memory', createJob(id, { request }), 1);
    }
    (await bench.createConsumer(() => true, room)).start();
    for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
      await until(() => bench.taken.length >= Math.min(index + most, 4));
      expect(room.takenBytes).toBeGreaterThan(bench.running.size * 1_600_000);
      bench.finish(id);
    }
    expect(bench.taken).toEqual(['a', 'b', 'c', 'd']);
    expect(bench.most()).toBe(most);
    await until(() => room.takenBytes === 0);
  });

  it('stay free while the values of the jobs that run fill the room, whatever their length', async () => {
    const bench = await createBench('dense', 8);
    const nothing = Array.from({ length: 20_000 }, () => ({}));
    const tool = { type: 'function' as const, name: 'f', parameters: { enum: nothing } };
    for (const id of ['a', 'b', 'c']) {
      const request = { model: 'simulated', messages: [], sampling: {}, tools: [tool] };
      await bench.queue.enqueue('dense', createJob(id, { request }), 1);
    }
    const room = new JobRoom(1_000_000);
    (await bench.createConsumer(() => true, room)).start();
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      await until(() => bench.taken.length > index);
      expect(room.takenBytes).toBeGreaterThan(2_000_000);
      bench.finish(id);
    }
    await until(() => room.takenBytes === 0);
  });

  it('of several pools stay free where they share a room, even if their jobs come at the same time', async () => {
    const room = new JobRoom(1_000);
    const pools = ['first', 'second', 'third'];
    const benches = await Promise.all(pools.map((pool) => createBench(pool, 8)));
    for (const bench of benches) (await bench.createConsumer(() => true, room)).start();
    await until(async () => (await waitingClients()) === pools.length);
    const content = [{ type: 'text' as const, text: 'x'.repeat(2_000_000) }];
    const request = { model: 'simulated', messages: [{ role: 'user' as const, content }], sampling: {} };
    await Promise.all(
      benches.map((bench, index) => bench.queue.enqueue(pools[index] ?? '', createJob('a', { request }), 1)),
    );
    for (let done = 1; done <= pools.length; done += 1) {
      await until(() => benches.flatMap(({ taken }) => taken).length >= done);
      expect(benches.filter(({ running }) => running.size > 0)).toHaveLength(1);
      // A claim too many would have been sent by now, though its large answer may still be on its way.
      await waitingClients();
      const depths = await Promise.all(benches.map(({ queue }, index) => queue.depth(pools[index] ?? '')));
      expect(depths.reduce((sum, depth) => sum + depth, 0)).toBe(pools.length - done);
      for (const bench of benches) bench.finishAll();
    }
    await until(() => room.takenBytes === 0);
  });

  it('stay free while the small jobs that run fill the room', async () => {
    const bench = await createBench('narrow', 2);
    (await bench.createConsumer(() => true, new JobRoom(1))).start();
    await until(async () => (await waitingClients()) === 1);
    await bench.add(6);
    for (let done = 1; done <= 6; done += 1) {
      await until(() => bench.taken.length === done);
      await waitingClients();
      bench.finishAll();
    }
    expect(bench.most()).toBe(1);
  });

  it('of a closed consumer stay free: the jobs are for others, and for itself once it opens', async () => {
    const bench = await createBench('closed', 2);
    let isOpen = false;
    (await bench.createConsumer(() => isOpen)).start();
    const other = await bench.createConsumer();
    other.start();
    await bench.add(3);
    await until(() => other.busy === 2);
    expect(await bench.queue.depth('closed')).toBe(1);
    isOpen = true;
    await until(() => bench.running.size === 3);
    expect(other.busy).toBe(2);
  });

  it('that are all taken leave the other jobs in the queue, where they can be taken back', async () => {
    const bench = await createBench('full', 1);
    await bench.add(3);
    const consumer = await bench.createConsumer();
    consumer.start();
    await until(() => bench.running.size === 1);
    expect(await bench.queue.depth('full')).toBe(2);
    const claims = async () => /cmdstat_evalsha:calls=\d+/.exec(await raw.info('commandstats'))?.[0];
    const before = await claims();
    for (let time = 0; time < 20; time += 1) await raw.ping();
    expect(await claims()).toBe(before);
    await bench.queue.remove('full', 'j1', 1);
    bench.finishAll();
    await until(() => bench.taken.length === 2);
    expect(bench.taken).toEqual(['j0', 'j2']);
  });

  it('become free again when a generation rejects against its contract', async () => {
    const errors: Error[] = [];
    const queue = createJobQueue(await connections.connect(server.url, 'command'));
    const consumer = new JobConsumer({
      pool: 'rejecting',
      slots: 1,
      redis: await connections.connect(server.url, 'worker'),
      run: () => Promise.reject(new Error('a defect')),
      onError: (error) => errors.push(error),
    });
    consumers.push(consumer);
    for (let index = 0; index < 3; index += 1) await queue.enqueue('rejecting', createJob(`j${index}`), 1);
    consumer.start();
    await until(() => errors.length === 3);
  });
});

it('a Redis that refuses claims is reported once, and again only after it has given out a job', async () => {
  const bench = await createBench('refused', 2);
  const set = (replicas: string) => ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', replicas);
  const refusals = async () =>
    Number(/NOREPLICAS:count=(\d+)/.exec(await ask(server.port, 'INFO', 'errorstats'))?.[1] ?? 0);
  (await bench.createConsumer()).start();
  for (const round of [1, 2]) {
    const before = await refusals();
    await set('1');
    // The connection asks, too.
    await until(async () => (await refusals()) > before + 6);
    expect(bench.errors).toHaveLength(round);
    await set('0');
    await bench.add(1);
    await until(() => bench.taken.length === round);
  }
});

describe('a job that is taken', () => {
  it('is finished at once: nothing of it stays in Redis while it runs', async () => {
    const bench = await createBench('claim', 4);
    await bench.add(4);
    (await bench.createConsumer()).start();
    await until(() => bench.running.size === 4);
    await until(
      async () => !(await bench.keys()).some((key) => /:j\d|:active$|:completed$|:failed$/.test(key)),
    );
  });

  it('goes to one of many workers, with many at once', async () => {
    const bench = await createBench('many', 200);
    for (let index = 0; index < 3; index += 1) (await bench.createConsumer()).start();
    await bench.add(400);
    await until(() => bench.taken.length === 400);
    expect(new Set(bench.taken).size).toBe(400);
    bench.finishAll();
    await until(() => consumers.every((consumer) => consumer.busy <= 1));
  });

  it('leaves jobs to other workers that wait, too', async () => {
    const bench = await createBench('spread', 64);
    const [one, other] = [await bench.createConsumer(), await bench.createConsumer()];
    one.start();
    other.start();
    for (let round = 1; round <= 10; round += 1) {
      await until(async () => (await waitingClients()) === 2);
      await bench.add(8, `r${round}-`);
      await until(() => bench.taken.length === 8 * round);
      expect([one.busy, other.busy].map((busy) => busy > 0)).toEqual([true, true]);
      bench.finishAll();
      await until(() => one.busy + other.busy === 0);
    }
  });

  it('of an unknown version is skipped and reported, and its slot is free again', async () => {
    const bench = await createBench('versions', 1);
    // It stands for a job that a newer ingress has written.
    await bench.queue.enqueue('versions', { ...createJob('new'), version: 2 } as unknown as InferenceJob, 1);
    await bench.queue.enqueue('versions', createJob('known'), 2);
    (await bench.createConsumer()).start();
    await until(() => bench.taken.length === 1);
    expect(bench.taken).toEqual(['known']);
    expect(bench.errors.map(({ message }) => message)).toEqual(['a job of an unknown version']);
  });
});

describe('a stop', () => {
  it('interrupts the fetch that waits for a job', async () => {
    const bench = await createBench('idle', 1);
    const consumer = await bench.createConsumer();
    consumer.start();
    await until(async () => (await waitingClients()) === 1);
    const clients = await countClients();
    await consumer.stop();
    expect(await waitingClients()).toBe(0);
    await until(async () => (await countClients()) === clients - 1);
  });

  it('does not wait for a Redis that does not answer', async () => {
    const bench = await createBench('frozen', 1);
    const consumer = await bench.createConsumer();
    consumer.start();
    await until(async () => (await waitingClients()) === 1);
    server.suspend();
    try {
      await consumer.stop();
    } finally {
      server.resume();
    }
  });

  it('takes nothing after it, and does not wait for what runs', async () => {
    const bench = await createBench('stopped', 1);
    await bench.add(2);
    const consumer = await bench.createConsumer();
    consumer.start();
    await until(() => bench.running.size === 1);
    await consumer.stop();
    bench.finishAll();
    await bench.add(1, 'later');
    expect(bench.taken).toHaveLength(1);
    expect(await bench.queue.depth('stopped')).toBe(2);
  });

  it('in the middle of everything loses no job: each is taken or waits', async () => {
    for (let round = 0; round < 8; round += 1) {
      const pool = `race${round}`;
      const bench = await createBench(pool, 8);
      const consumer = await bench.createConsumer();
      consumer.start();
      const adding = bench.add(20);
      await until(() => bench.taken.length > round);
      const stopped = consumer.stop();
      await adding;
      await stopped;
      const taken = bench.taken.length;
      expect(taken + (await bench.queue.depth(pool))).toBe(20);
      bench.finishAll();
      await new Promise((resolve) => setImmediate(resolve));
      expect(bench.taken).toHaveLength(taken);
      expect((await bench.keys()).filter((key) => key.endsWith(':active'))).toEqual([]);
    }
  });

  it('before a start is nothing special', async () => {
    const bench = await createBench('unstarted', 1);
    await (await bench.createConsumer()).stop();
  });
});

describe('the queue', () => {
  let queue: JobQueue;

  it('takes an attempt once, however often it is sent', async () => {
    queue = createJobQueue(await connections.connect(server.url, 'command'));
    for (let time = 0; time < 3; time += 1) await queue.enqueue('twice', createJob('a'), 1);
    expect(await queue.depth('twice')).toBe(1);
  });
});

describe('the deadline of a job', () => {
  /** Far from those of the ingresses, which agree with nobody either. */
  const now = 9_000_000;
  const ids = ['a', 'b', 'c'];

  /**
   * Jobs with 10 s from their entrance, `count` of which a worker whose clock stands at `now` gets after `change`.
   * `entered` tells by the ingress when each was put in.
   */
  async function takenAfter(
    change: (key: string) => Promise<unknown>,
    count = ids.length,
    entered = (index: number): number => 1_000 * 10 ** (3 * index),
  ): Promise<InferenceJob[]> {
    const queue = createJobQueue(await connections.connect(server.url, 'command'));
    for (const [index, id] of ids.entries()) {
      const enqueuedAt = entered(index);
      await queue.enqueue('clocks', createJob(id, { enqueuedAt, deadlineAt: enqueuedAt + 10_000 }), 1);
      await change(`${poolQueueKeys('clocks').jobPrefix}${id}-1`);
    }
    const taken: InferenceJob[] = [];
    const consumer = new JobConsumer({
      ...{ pool: 'clocks', slots: 9, now: () => now },
      redis: await connections.connect(server.url, 'worker'),
      run: async (job) => void taken.push(job),
      onError: () => undefined,
    });
    consumers.push(consumer);
    consumer.start();
    await until(() => taken.length === count);
    return taken;
  }

  it('is by the clock of the worker, whatever that of the ingress says', async () => {
    for (const { deadlineAt } of await takenAfter(async () => undefined)) {
      expect(deadlineAt).toBeGreaterThan(now);
      expect(deadlineAt).toBeLessThanOrEqual(now + 10_000);
    }
  });

  it.each([
    ['also by the clocks of the hosts', undefined],
    ['whatever the clocks of the hosts say', () => now],
  ])(
    'has passed when Redis has kept the job for that long, %s: then the job is skipped',
    async (_case, entered) => {
      const fresh = new Set([`${poolQueueKeys('clocks').jobPrefix}c-1`]);
      const late = (key: string): Promise<unknown> | undefined =>
        fresh.has(key) ? undefined : raw.pexpire(key, 55_000);
      const taken = await takenAfter(async (key) => late(key), 1, entered);
      expect(taken.map(({ requestId }) => requestId)).toEqual(['c']);
    },
  );

  it('does not come earlier when the clock of Redis is set forward, if the hosts agree', async () => {
    const change = (key: string): Promise<unknown> => raw.pexpire(key, 63_000);
    const taken = await takenAfter(change, ids.length, () => now - 2_000);
    for (const { deadlineAt } of taken) expect(deadlineAt).toBe(now + 8_000);
  });

  it('does not come later when that clock is set back', async () => {
    for (const { deadlineAt } of await takenAfter((key) => raw.pexpire(key, 3_600_000))) {
      expect(deadlineAt).toBe(now + 10_000);
    }
  });

  it('of a job without expiry, by an older ingress, starts anew at the claim: that ingress cancels late jobs itself', async () => {
    for (const { deadlineAt } of await takenAfter((key) => raw.persist(key))) {
      expect(deadlineAt).toBe(now + 10_000);
    }
  });
});
