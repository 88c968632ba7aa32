import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { poolQueueKeys } from '@sluice/transport';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Admission, createAdmission } from './admission.ts';
import type { Entrance } from './claim.ts';
import { Ledger } from './ledger.ts';
import { poolBook, tenantBook } from './names.ts';
import { startClusterOfOne, TestBed } from './test-bed.ts';

const queue = poolQueueKeys('gpu');
const jobs = (...ids: string[]): Entrance => ({
  entries: () => ids.map((id) => ({ id, data: `{"of":"${id}"}`, lifeMs: 60_000 })),
  isRunning: () => false,
});

describe.each([
  {
    name: 'a single Redis',
    start: () => startOwnRedis(),
    connect: ({ url }: OwnTestRedis) => new Redis(url),
  },
  {
    name: 'a Cluster',
    start: startClusterOfOne,
    connect: ({ port }: OwnTestRedis) => new Cluster([{ host: '127.0.0.1', port }]),
  },
])('what is admitted on $name', ({ start, connect }) => {
  let bed: TestBed<OwnTestRedis>;
  let redis: Redis | Cluster;
  let admission: Admission;
  beforeAll(async () => {
    bed = new TestBed(await start());
    redis = connect(bed.server);
  });
  beforeEach(async () => {
    await redis.flushall();
    admission = createAdmission({ redis });
  });
  afterAll(async () => {
    redis.disconnect();
    await bed.server.stop();
  });

  const waiting = () => redis.zrange(queue.prioritized, '0', '-1');
  const ofTenant = { tenant: { concurrency: { max: 1 } }, key: {} };

  it('waits in the queue of its pool, with all its jobs', async () => {
    await admission.admit(bed.claim({ jobs: 2 }), jobs('a', 'b'));
    expect(await waiting()).toEqual(['a', 'b']);
    expect(await redis.hget(`${queue.jobPrefix}b`, 'data')).toBe('{"of":"b"}');
    expect(await redis.exists(queue.marker)).toBe(1);
  });

  it('enters no queue if it was given up before it came', async () => {
    const claim = bed.claim({ limits: ofTenant });
    const books = [tenantBook('acme'), poolBook('gpu')];
    await new Ledger(redis, 15_000).settle({ requestId: claim.requestId, books });
    await admission.admit(claim, jobs('late'));
    expect(await waiting()).toEqual([]);
    await admission.admit(bed.claim({ limits: ofTenant }), jobs('next'));
    expect(await waiting()).toEqual(['next']);
  });

  it('is gone by itself when nobody takes it', async () => {
    await admission.admit(bed.claim({ jobs: 2 }), jobs('a', 'b'));
    for (const id of ['a', 'b']) {
      const leftMs = await redis.pttl(`${queue.jobPrefix}${id}`);
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(60_000);
    }
  });

  it('has a fair place there, and its ticket tells the priority', async () => {
    const poolPolicy = { slots: 1, waitBudgetMs: 100_000 };
    const tickets = [];
    for (const id of ['b1', 'b2', 'b3']) {
      tickets.push(await admission.admit(bed.claim({ tenant: 'busy', poolPolicy }), jobs(id)));
    }
    tickets.push(await admission.admit(bed.claim({ tenant: 'calm', poolPolicy }), jobs('c1')));
    expect(await waiting()).toEqual(['b1', 'c1', 'b2', 'b3']);
    const scores = await redis.zrange(queue.prioritized, '0', '-1', 'WITHSCORES');
    const priorities = [1, 5, 7, 3].map((index) => Math.floor(Number(scores[index]) / 2 ** 16) / 2 ** 16);
    expect(tickets.map((ticket) => ticket.priorityOf(0))).toEqual(priorities);
  });

  it('counts each of several answers to one request for itself', async () => {
    const poolPolicy = { slots: 1, waitBudgetMs: 100_000 };
    const wide = await admission.admit(
      bed.claim({ tenant: 'wide', jobs: 3, poolPolicy }),
      jobs('w1', 'w2', 'w3'),
    );
    await admission.admit(bed.claim({ tenant: 'calm', poolPolicy }), jobs('c1'));
    await admission.admit(bed.claim({ tenant: 'wide', poolPolicy }), jobs('w4'));
    expect(await waiting()).toEqual(['w1', 'c1', 'w2', 'w3', 'w4']);
    const scores = await redis.zrange(queue.prioritized, '0', '-1', 'WITHSCORES');
    const priorities = [1, 5, 7].map((index) => Math.floor(Number(scores[index]) / 2 ** 16) / 2 ** 16);
    expect([0, 1, 2].map((job) => wide.priorityOf(job))).toEqual(priorities);
  });

  it('of one turn enters together, in the order of the claims', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `r${index}`);
    await Promise.all(ids.map((id) => admission.admit(bed.claim({ tenant: id }), jobs(id))));
    expect(await waiting()).toEqual(ids);
  });

  it('of one turn enters the queues of all its pools', async () => {
    const pools = ['gpu', 'cpu', 'tpu'];
    await Promise.all(
      pools.map((pool) => admission.admit(bed.claim({ pool, jobs: 2 }), jobs(`for ${pool}`, pool))),
    );
    const queued = pools.map((pool) => redis.zrange(poolQueueKeys(pool).prioritized, '0', '-1'));
    expect(await Promise.all(queued)).toEqual(pools.map((pool) => [`for ${pool}`, pool]));
  });

  it('alone enters: what a policy, the pool or a lack of workers refuses leaves nothing', async () => {
    await admission.admit(bed.claim({ limits: ofTenant }), jobs('first'));
    const refusals = [
      admission.admit(bed.claim({ limits: ofTenant }), jobs('limited')),
      admission.admit(bed.claim({ poolPolicy: { slots: 1, waitBudgetMs: 0, maxWaiting: 0 } }), jobs('full')),
      admission.admit(bed.claim({ poolPolicy: { slots: 0, waitBudgetMs: 0 } }), jobs('unserved')),
    ];
    const kinds = await Promise.allSettled(refusals);
    expect(kinds.map((each) => each.status === 'rejected' && each.reason.kind)).toEqual([
      'rate-limited',
      'saturated',
      'unavailable',
    ]);
    expect(await waiting()).toEqual(['first']);
    expect(await redis.keys(`${queue.jobPrefix}*`)).not.toContain(`${queue.jobPrefix}limited`);
  });

  it('wakes nobody while the queue is paused', async () => {
    await redis.hset(queue.meta, 'paused', 1);
    await admission.admit(bed.claim(), jobs('a'));
    expect([await waiting(), await redis.exists(queue.marker)]).toEqual([['a'], 0]);
  });
});
