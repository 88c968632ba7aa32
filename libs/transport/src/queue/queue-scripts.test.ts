import { encodeLarge } from '@sluice/runtime';
import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { queueName, queuePrefix } from '../names.ts';
import {
  type ClaimedJob,
  claimJobs,
  claimSmallJobs,
  enqueueJobs,
  type PoolQueueKeys,
  poolQueueKeys,
} from './queue-scripts.ts';

let server: OwnTestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
});
afterEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const pool = 'chat';
const keys: PoolQueueKeys = poolQueueKeys(pool);
const lifeMs = 60_000;
const jobOf = (id: string, priority = 1) => ({ id, data: JSON.stringify({ is: id }), lifeMs, priority });
const idsOf = (claimed: readonly ClaimedJob[]): string[] => claimed.map(({ data }) => JSON.parse(data).is);

/** BullMQ's own view of the same queue. */
async function withBullmq(look: (queue: Queue) => Promise<void>): Promise<void> {
  const queue = new Queue(queueName(pool), { connection: redis, prefix: queuePrefix(pool) });
  try {
    await look(queue);
  } finally {
    await queue.close();
  }
}

describe('jobs that we put in', () => {
  it('come out in the order of their priority, and within one in the order in which they came', async () => {
    await enqueueJobs(redis, keys, [jobOf('d', 5), jobOf('b', 1), jobOf('c', 5)]);
    await enqueueJobs(redis, keys, [jobOf('a', 1), jobOf('e', 2_097_151)]);
    expect(idsOf(await claimJobs(redis, keys, 3))).toEqual(['b', 'a', 'd']);
    expect(idsOf(await claimJobs(redis, keys, 3))).toEqual(['c', 'e']);
    expect(await claimJobs(redis, keys, 3)).toEqual([]);
  });

  it('come out in the order of the fractions of their priority, of which BullMQ sees none', async () => {
    await enqueueJobs(redis, keys, [jobOf('c', 5.5), jobOf('b', 5 + 2 ** -16), jobOf('d', 6), jobOf('a', 5)]);
    await withBullmq(async (queue) => {
      expect(await queue.getJob('c')).toMatchObject({ priority: 5, opts: { priority: 5 } });
    });
    expect(idsOf(await claimJobs(redis, keys, 4))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('come out after all that came before them, however many of these were put in at once', async () => {
    await enqueueJobs(redis, keys, [jobOf('a'), jobOf('b'), jobOf('c')]);
    await enqueueJobs(redis, keys, [jobOf('d')]);
    expect(idsOf(await claimJobs(redis, keys, 4))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('come out as they went in, however large they are and whatever they hold', async () => {
    const texts = ['ü', '→ "\\\n'.repeat(10_000), 'plain '.repeat(10_000)].map((text) =>
      JSON.stringify({ text }),
    );
    const jobs = texts.map((data, index) => ({ ...jobOf(`job-${index}`), data: encodeLarge(data) }));
    expect(jobs.map(({ data }) => typeof data)).toEqual(['string', 'object', 'object']);
    await enqueueJobs(redis, keys, jobs);
    expect((await claimJobs(redis, keys, 3)).map(({ data }) => data)).toEqual(texts);
  });

  it('leave nothing of theirs in Redis once they are claimed', async () => {
    await enqueueJobs(redis, keys, [jobOf('a'), jobOf('b')]);
    await claimJobs(redis, keys, 2);
    expect(await redis.keys('*')).toEqual([keys.marker]);
  });

  it('stay as they are when they are put in again while they wait', async () => {
    await enqueueJobs(redis, keys, [jobOf('a', 3), jobOf('b', 3)]);
    await enqueueJobs(redis, keys, [{ ...jobOf('b', 1), data: '{"is":"another"}' }]);
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['a', 'b']);
  });

  it('leave a marker for the next worker while there are more', async () => {
    await enqueueJobs(redis, keys, [jobOf('a'), jobOf('b')]);
    await redis.del(keys.marker);
    await claimJobs(redis, keys, 1);
    expect(await redis.exists(keys.marker)).toBe(1);
    await redis.del(keys.marker);
    await claimJobs(redis, keys, 1);
    expect(await redis.exists(keys.marker)).toBe(0);
  });

  it('expire if nobody takes them', async () => {
    await enqueueJobs(redis, keys, [jobOf('a'), { ...jobOf('b'), lifeMs: 1_000_000 }]);
    const [a, b] = [await redis.pttl(`${keys.jobPrefix}a`), await redis.pttl(`${keys.jobPrefix}b`)];
    expect(a).toBeGreaterThan(0);
    expect(a).toBeLessThanOrEqual(lifeMs);
    expect(b).toBeGreaterThan(lifeMs);
  });

  it('tell at their claim how much of their time is left, if they have an expiry', async () => {
    await enqueueJobs(redis, keys, [jobOf('a'), { ...jobOf('b'), lifeMs: 1_000_000 }, jobOf('c')]);
    // As an older ingress, and BullMQ itself, put one in.
    await redis.persist(`${keys.jobPrefix}c`);
    const [a, b, c] = await claimJobs(redis, keys, 9);
    expect(a?.lifeMs).toBeGreaterThan(0);
    expect(a?.lifeMs).toBeLessThanOrEqual(lifeMs);
    expect(b?.lifeMs).toBeGreaterThan(lifeMs);
    expect(c).toEqual({ data: '{"is":"c"}', isAnnounced: false });
  });

  it('are skipped once they have expired, and leave no place behind', async () => {
    await enqueueJobs(redis, keys, [jobOf('dead'), jobOf('a'), jobOf('gone'), jobOf('b')]);
    // As if their time had passed.
    await redis.del(`${keys.jobPrefix}dead`, `${keys.jobPrefix}gone`);
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['a', 'b']);
    expect(await redis.keys('*')).toEqual([keys.marker]);
  });

  it('can be claimed up to the first large one, which keeps its place', async () => {
    const large = { ...jobOf('b'), data: JSON.stringify({ is: 'b', prompt: 'x'.repeat(1_100_000) }) };
    await enqueueJobs(redis, keys, [jobOf('a'), large, jobOf('c')]);
    expect(await claimSmallJobs(redis, keys, 9)).toEqual([
      { data: '{"is":"a"}', lifeMs: expect.any(Number), isAnnounced: false },
    ]);
    await redis.del(keys.marker);
    expect(await claimSmallJobs(redis, keys, 9)).toBe('large');
    expect(await redis.exists(keys.marker)).toBe(1);
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['b']);
    expect(await claimSmallJobs(redis, keys, 9)).toHaveLength(1);
    expect(await claimSmallJobs(redis, keys, 9)).toEqual([]);
  });

  it('come a megabyte at a time where they are large, and what is left keeps its place', async () => {
    const large = (id: string, priority: number) => ({
      ...jobOf(id, priority),
      data: JSON.stringify({ is: id, prompt: 'x'.repeat(600_000) }),
    });
    await enqueueJobs(redis, keys, [large('a', 2), large('b', 2), jobOf('d', 2_097_151), large('c', 2)]);
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['a', 'b']);
    expect(await redis.exists(keys.marker)).toBe(1);
    await enqueueJobs(redis, keys, [jobOf('e', 3)]);
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['c', 'e', 'd']);
    expect(await redis.keys('*')).toEqual([keys.marker]);
  });

  it('can be claimed when Redis has no memory left', async () => {
    await enqueueJobs(redis, keys, [jobOf('a'), jobOf('b')]);
    const before = await redis.config('GET', 'maxmemory');
    await redis.config('SET', 'maxmemory', '1');
    try {
      await expect(enqueueJobs(redis, keys, [jobOf('c')])).rejects.toThrow('OOM');
      expect(idsOf(await claimJobs(redis, keys, 1))).toEqual(['a']);
    } finally {
      await redis.config('SET', 'maxmemory', String((before as string[])[1]));
    }
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['b']);
  });
});

describe('to BullMQ itself', () => {
  it('our jobs are its own: it lists, counts and removes them', async () => {
    await enqueueJobs(redis, keys, [jobOf('a-1', 7), jobOf('b-1', 8)]);
    await withBullmq(async (queue) => {
      expect(await queue.getPrioritizedCount()).toBe(2);
      const job = await queue.getJob('a-1');
      expect(job).toMatchObject({ id: 'a-1', name: 'generate', data: { is: 'a-1' }, priority: 7 });
      expect(job?.opts).toMatchObject({ removeOnComplete: true, removeOnFail: true, attempts: 1 });
      expect(await queue.remove('a-1')).toBe(1);
    });
    expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['b-1']);
  });

  it('a worker of its own takes them, woken by them, and leaves nothing', async () => {
    const taken: unknown[] = [];
    const worker = new Worker(queueName(pool), async (job) => void taken.push(job.data), {
      connection: redis,
      prefix: queuePrefix(pool),
    });
    worker.on('error', () => undefined);
    await worker.waitUntilReady();
    await until(async () => String(await redis.call('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
    await enqueueJobs(redis, keys, [jobOf('a-1'), jobOf('b-1')]);
    await until(() => taken.length === 2);
    await worker.close();
    expect(taken).toEqual([{ is: 'a-1' }, { is: 'b-1' }]);
    expect(await redis.keys('*-1')).toEqual([]);
  });

  it('what it puts in is ours to claim, in one order with our own', async () => {
    await withBullmq(async (queue) => {
      await queue.add('generate', { is: 'theirs' }, { jobId: 'x-1', priority: 2 });
      await enqueueJobs(redis, keys, [jobOf('later', 2), jobOf('first', 1)]);
      expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['first', 'theirs', 'later']);
    });
  });

  it('a queue that it pauses gives us nothing, and wakes us when it goes on', async () => {
    await withBullmq(async (queue) => {
      await queue.pause();
      await enqueueJobs(redis, keys, [jobOf('a')]);
      expect(await redis.exists(keys.marker)).toBe(0);
      expect(await claimJobs(redis, keys, 9)).toEqual([]);
      await queue.resume();
      expect(await redis.exists(keys.marker)).toBe(1);
      expect(idsOf(await claimJobs(redis, keys, 9))).toEqual(['a']);
    });
  });
});
