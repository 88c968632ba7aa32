import { once } from 'node:events';
import { type Clock, FakeClock, systemClock } from '@sluice/runtime';
import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import type { RedisClient } from '@sluice/transport';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Admission } from './admission.ts';
import type { Ticket } from './claim.ts';
import { bookKeys, countKey } from './names.ts';
import { TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

/** Shorter than any patience, and longer than a machine stands still. */
const short = { leaseMs: 2_500, renewEveryMs: 50 };
const limits = { tenant: { concurrency: { max: 1 }, 'token-budget': { max: 1000 } }, key: {} };
const refusal = {
  kind: 'unavailable',
  message: expect.stringContaining('admission does not answer'),
  options: { refusedBy: 'redis' },
};
/** The clock of a host that was set wrong. */
const shifted = (byMs: number): Clock => ({ ...systemClock, now: () => Date.now() + byMs });
const oneSlot = { slots: 1, waitBudgetMs: 0, maxWaiting: 0 };

it('what a dead ingress held is free after its lease, and charged by the input and the output seen', async () => {
  const [dying, living] = [await bed.admission(short), await bed.admission(short)];
  await dying.start();
  const claim = bed.claim({ limits, poolPolicy: oneSlot });
  const ticket = await dying.admit(claim);
  ticket.sawOutput(7);
  const [, records] = bookKeys('sluice:{t:acme}');
  await until(async () => (await living.redis.hget(records, claim.requestId))?.startsWith('40 7 '));
  dying.redis.disconnect();

  const next = bed.claim({ limits, poolPolicy: oneSlot });
  await expect(living.admit(next)).rejects.toMatchObject({ kind: 'rate-limited' });
  await until(() => living.admit(next).catch(() => undefined));
  expect((await living.usage(claim)).map(({ used }) => used)).toEqual([1, 47 + 100]);

  await dying.redis.connect();
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  expect((await living.usage(claim)).map(({ used }) => used)).toEqual([1, 47 + 100]);
});

it('the output seen while Redis could not be told is told by a later renewal', async () => {
  const clock = new FakeClock();
  const ingress = await bed.admission({ clock, renewEveryMs: 50 });
  await ingress.start();
  const claim = bed.claim({ limits });
  const ticket = await ingress.admit(claim);
  const isAway = once(ingress.redis, 'end');
  ingress.redis.disconnect();
  await isAway;
  ticket.sawOutput(7);
  await clock.advance(50);
  await ingress.redis.connect();
  const [, records] = bookKeys('sluice:{t:acme}');
  await until(async () => {
    await clock.advance(50);
    return (await ingress.redis.hget(records, claim.requestId))?.startsWith('40 7 ');
  });
});

it('the next request settles what a dead ingress held, even if no process looks after it', async () => {
  const [dead, next] = [await bed.admission({ leaseMs: 100 }), await bed.admission({ leaseMs: 100 })];
  const limits = { tenant: { 'token-budget': { max: 150 } }, key: {} };
  await dead.admit(bed.claim({ limits }));
  const ticket = await until(() => next.admit(bed.claim({ limits })).catch(() => undefined));
  // Charged for its input, 40, the dead one leaves room for these 100.
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  expect((await next.usage(bed.claim({ limits })))[0]?.used).toBe(140);
});

it('places of more dead requests than one visit settles are free at once', async () => {
  const [dying, living] = [await bed.admission({ leaseMs: 100 }), await bed.admission()];
  const many = { tenant: { concurrency: { max: 150 } }, key: {} };
  await Promise.all(Array.from({ length: 150 }, () => dying.admit(bed.claim({ limits: many }))));
  const second = async () => Number((await living.redis.time())[0]);
  const diedAt = await second();
  await until(async () => (await second()) > diedAt + 1);
  await living.admit(bed.claim({ limits: many, jobs: 150 }));
});

it('a living ingress looks after what a dead one left, even if nobody asks for that tenant again', async () => {
  const [dying, living] = [await bed.admission({ leaseMs: 100 }), await bed.admission(short)];
  const claim = bed.claim({ limits });
  await dying.admit(claim);
  dying.redis.disconnect();
  await living.start();
  const { redis } = living;
  await until(async () => (await redis.exists('sluice:admission:slots')) === 0);
  expect(await redis.keys('*')).toEqual(['sluice:{t:acme}:token-budget:tenant']);
  expect(await redis.hgetall('sluice:{t:acme}:token-budget:tenant')).toMatchObject({
    spent: '40',
    reserved: '0',
  });
});

it('a living ingress settles all that a dead one left in one round, however much it is', async () => {
  // Longer than the test waits, so that a book that is not done gets no second look in time.
  const living = await bed.admission({ leaseMs: 50_000, renewEveryMs: 50 });
  const dying = await bed.admission({ leaseMs: 100 });
  await Promise.all(Array.from({ length: 250 }, () => dying.admit(bed.claim())));
  dying.redis.disconnect();
  await living.start();
  await until(async () => (await living.redis.exists('sluice:admission:slots')) === 0);
  expect(await living.redis.keys('*')).toEqual([]);
});

it('a living ingress looks after what a dead one left, even if their clocks are hours apart', async () => {
  const hourMs = 3_600_000;
  const [fast, slow] = [shifted(hourMs), shifted(-hourMs)];
  const [dying, living] = [
    await bed.admission({ leaseMs: 100, clock: fast }),
    await bed.admission({ ...short, clock: slow }),
  ];
  await dying.admit(bed.claim({ limits }));
  dying.redis.disconnect();
  await living.start();
  await until(async () => (await living.redis.exists('sluice:admission:slots')) === 0);
  expect(await living.redis.keys('*')).toEqual(['sluice:{t:acme}:token-budget:tenant']);
});

/** Makes what Redis holds of acme as old as if its clock had been set back by two hours since. */
async function setClockBack(redis: Redis): Promise<void> {
  const [open] = bookKeys('sluice:{t:acme}');
  const [openInPool] = bookKeys('sluice:{p:gpu}');
  const leases = [countKey('sluice:{t:acme}', 'concurrency', 'tenant'), 'sluice:{p:gpu}:leases:all'];
  for (const key of ['sluice:admission:slots', open, openInPool, ...leases]) {
    for (const member of await redis.zrange(key, '0', '-1')) await redis.zincrby(key, 7_200_000, member);
  }
}

it('a living ingress looks after what a dead one left, even if the clock of Redis has since been set back by hours', async () => {
  const [dying, living] = [await bed.admission({ leaseMs: 100 }), await bed.admission(short)];
  await dying.admit(bed.claim({ limits }));
  dying.redis.disconnect();
  await setClockBack(living.redis);
  await living.start();
  await until(async () => (await living.redis.exists('sluice:admission:slots')) === 0);
  expect(await living.redis.keys('*')).toEqual(['sluice:{t:acme}:token-budget:tenant']);
});

it('what a dead ingress held before the clock was set back comes free for a tenant that asks all the time, too', async () => {
  const [dying, living] = [await bed.admission({ leaseMs: 100 }), await bed.admission(short)];
  await dying.admit(bed.claim({ limits }));
  dying.redis.disconnect();
  await setClockBack(living.redis);
  await expect(living.admit(bed.claim({ limits }))).rejects.toMatchObject({ kind: 'rate-limited' });
  await living.start();
  await until(() => living.admit(bed.claim({ limits })).catch(() => undefined));
});

it('an ingress whose clock is fast leaves what another one holds to that one', async () => {
  const [holder, fast] = [
    await bed.admission(),
    await bed.admission({ ...short, clock: shifted(3_600_000) }),
  ];
  await holder.admit(bed.claim({ limits }));
  const { redis } = holder;
  const promised = await redis.zrange('sluice:admission:slots', '0', '-1', 'WITHSCORES');
  const looks = async () =>
    Number(/cmdstat_zcard:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const looksBefore = await looks();
  const rounds = async () =>
    Number(/cmdstat_zrangebyscore:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const roundsBefore = await rounds();
  await fast.start();
  await until(async () => (await rounds()) > roundsBefore + 3);
  expect(await looks()).toBe(looksBefore);
  expect(await redis.zrange('sluice:admission:slots', '0', '-1', 'WITHSCORES')).toEqual(promised);
});

it('a lease that is renewed outlives its term', async () => {
  const ingress = await bed.admission(short);
  await ingress.start();
  await ingress.admit(bed.claim({ poolPolicy: oneSlot }));
  const endsAt = Date.now() + 1.2 * short.leaseMs;
  await until(async () => {
    await expect(ingress.admit(bed.claim({ poolPolicy: oneSlot }))).rejects.toMatchObject({
      kind: 'saturated',
    });
    return Date.now() > endsAt;
  });
});

/** Plays the last round of an ingress to its end. */
async function round(ingress: Admission & { redis: Redis }): Promise<void> {
  ingress.redis.emit('ready');
  await ingress.close();
}

/** Epoch milliseconds by the clock of Redis. */
async function timeOf(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

it('every lease is renewed when a third of it is over', async () => {
  const clock = new FakeClock();
  const leaseMs = 30_000;
  const ingress = await bed.admission({ leaseMs, clock });
  await ingress.start();
  const ids = [(await ingress.admit(bed.claim())).requestId, (await ingress.admit(bed.claim())).requestId];
  const [open] = bookKeys('sluice:{p:gpu}');
  const endsOf = async () => (await ingress.redis.zmscore(open, ...ids)).map(Number);
  const before = await endsOf();
  // Within the same millisecond, a renewal would not show.
  await until(async () => (await timeOf(ingress.redis)) + leaseMs > Math.max(...before));
  await clock.advance(leaseMs / 3);
  await until(async () => (await endsOf()).every((end, index) => end > (before[index] ?? 0)));
});

it('the output seen is told by the next renewal', async () => {
  const ingress = await bed.admission({ renewEveryMs: 3_600_000 });
  await ingress.start();
  const claim = bed.claim({ limits });
  (await ingress.admit(claim)).sawOutput(7);
  await round(ingress);
  const [, records] = bookKeys('sluice:{t:acme}');
  expect(await ingress.redis.hget(records, claim.requestId)).toMatch(/^40 7 /);
});

it('a request without policies that has given its places back does not get them again by a renewal', async () => {
  const ingress = await bed.admission({ renewEveryMs: 3_600_000 });
  await ingress.start();
  (await ingress.admit(bed.claim())).freePlaces(5);
  const inPool = async () => (await ingress.inspect()).books['sluice:{p:gpu}']?.requests;
  await until(async () => (await inPool()) === 0);
  await round(ingress);
  expect(await inPool()).toBe(0);
});

it('an ingress that has ended renews nothing when its connection comes back', async () => {
  const clock = new FakeClock();
  const ingress = await bed.admission({ clock });
  const listening = ingress.redis.listenerCount('ready');
  await ingress.start();
  await ingress.admit(bed.claim());
  await ingress.close();
  expect([ingress.redis.listenerCount('ready'), clock.timers]).toEqual([listening, 0]);
});

const isPromised = (redis: Redis) => redis.zscore('sluice:admission:slots', 'sluice:{p:gpu}');

it('a promise to look after a book that Redis did not hear is made again by the next request', async () => {
  const ingress = await bed.admission();
  const isAway = once(ingress.redis, 'end');
  ingress.redis.disconnect();
  await isAway;
  await expect(ingress.admit(bed.claim())).rejects.toMatchObject(refusal);
  await ingress.redis.connect();
  await ingress.admit(bed.claim());
  await until(() => isPromised(ingress.redis));
});

it('a promise that ran out because nothing was open is made again by the next request', async () => {
  const ingress = await bed.admission({ renewEveryMs: 3_600_000 });
  await ingress.start();
  await (await ingress.admit(bed.claim())).settle({});
  await ingress.redis.del('sluice:admission:slots');
  await round(ingress);
  expect(await isPromised(ingress.redis)).toBeNull();
  await ingress.admit(bed.claim());
  await until(() => isPromised(ingress.redis));
});

it.each([
  ['ended', 0, (ticket: Ticket) => ticket.settle({})],
  ['given its places back', 1, async (ticket: Ticket) => ticket.freePlaces(5)],
])('what has %s since a round of renewals began is not brought back by it', async (_what, left, release) => {
  const ingress = await bed.admission({ renewEveryMs: 3_600_000 });
  await ingress.start();
  const ticket = await ingress.admit(bed.claim({ limits }));
  // A round: the tenant's lease is renewed now, and that of the pool after it.
  ingress.redis.emit('ready');
  await release(ticket);
  await ingress.close();
  const { books } = await ingress.inspect();
  expect(Object.entries(books).map(([book, { requests }]) => [book, requests])).toEqual([
    ['sluice:{p:gpu}', 0],
    ['sluice:{t:acme}', left],
  ]);
});

it('a request that outlasts an outage of Redis keeps its place and is settled truly', async () => {
  const ingress = await bed.admission({ leaseMs: 10_000, renewEveryMs: 50 });
  await ingress.start();
  const claim = bed.claim({ limits, poolPolicy: oneSlot });
  const ticket = await ingress.admit(claim);
  await bed.server.down({ keepData: true });
  await until(() => ingress.redis.status !== 'ready');
  await expect(ingress.admit(bed.claim())).rejects.toMatchObject(refusal);
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 2 } });
  expect(ingress.redis.status).not.toBe('ready');
  await bed.server.up();
  await until(async () => (await ingress.inspect()).unsettled === 0);
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([0, 42]);
});

it('a settlement that failed is repeated once more when its process ends', async () => {
  const ingress = await bed.admission();
  const ticket = await ingress.admit(bed.claim());
  ingress.redis.disconnect();
  await until(() => ingress.redis.status === 'end');
  await ticket.settle({});
  await ingress.redis.connect();
  await ingress.close();
  const { unsettled, books } = await ingress.inspect();
  expect([unsettled, books['sluice:{p:gpu}']?.requests]).toEqual([0, 0]);
});

it('a Redis that comes back empty learns the running leases again, and nothing is left of them in the end', async () => {
  const ingress = await bed.admission({ leaseMs: 10_000, renewEveryMs: 50 });
  await ingress.start();
  const claim = bed.claim({ limits, poolPolicy: oneSlot });
  const ticket = await ingress.admit(claim);
  await bed.server.restart();
  await until(async () => (await ingress.usage(claim))[0]?.used === 1);
  // If this process died now, keys without an expiry would stay for ever.
  const names = await ingress.redis.keys('*');
  const lives = await Promise.all(names.map((name) => ingress.redis.pttl(name)));
  expect(names.filter((_, index) => lives[index] === -1)).toEqual([]);
  await expect(ingress.admit(bed.claim({ limits }))).rejects.toThrow('concurrency');
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 2 } });
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([0, 0]);
  expect(Object.values((await ingress.inspect()).books).every(({ requests }) => requests === 0)).toBe(true);
});

it('a swept request that is still running gets its places back and is not charged again', async () => {
  const [frozen, other] = [
    await bed.admission({ leaseMs: 100, renewEveryMs: 60_000 }),
    await bed.admission(),
  ];
  const claim = bed.claim({ limits });
  const ticket = await frozen.admit(claim);
  await until(async () => (await other.usage(claim))[0]?.used === 0);
  await frozen.start();
  frozen.redis.disconnect(true);
  // Looked up without a script, each of which would sweep the place again when its lease is over.
  const place = countKey('sluice:{t:acme}', 'concurrency', 'tenant');
  await until(async () => (await other.redis.zcard(place)) === 1);
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  expect((await other.usage(claim)).map(({ used }) => used)).toEqual([0, 40]);
});

/** The command is sent before the pause: the server reads it afterwards, and nobody receives the reply. */
function hangUp(redis: Redis): void {
  setImmediate(() => redis.disconnect(true));
}

/** An ingress whose scripts Redis has. It would ask for one that it lacks, in a reply that nobody receives. */
async function knownIngress() {
  const ingress = await bed.admission({ renewEveryMs: 50 });
  const ticket = await ingress.admit(bed.claim());
  await ticket.settle({});
  await ingress.start();
  return ingress;
}

it('a reservation whose answer was lost is given back', async () => {
  const ingress = await knownIngress();
  const rates = { 'request-rate': { max: 9, periodMs: 86_400_000 } };
  const claim = bed.claim({ limits: { ...limits, key: rates } });
  bed.server.suspend();
  try {
    const asked = ingress.admit(claim);
    hangUp(ingress.redis);
    await expect(asked).rejects.toMatchObject(refusal);
  } finally {
    bed.server.resume();
  }
  await until(async () => (await ingress.inspect()).unsettled === 0);
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([0, 0, 0]);
  const none = { requests: 0, reservedTokens: 0 };
  expect((await ingress.inspect()).books).toEqual({ 'sluice:{p:gpu}': none, 'sluice:{t:acme}': none });
});

it('a reservation whose answer was lost is kept and charged when its job runs', async () => {
  const ingress = await knownIngress();
  const claim = bed.claim({ limits });
  const entries = () => [{ id: 'job', data: '{}', lifeMs: 60_000 }];
  bed.server.suspend();
  const asked = ingress.admit(claim, { entries, isRunning: () => true });
  hangUp(ingress.redis);
  // Only the script that admits puts the job where it runs.
  const ticket = await asked.finally(() => bed.server.resume());
  await until(async () => (await ingress.usage(claim))[0]?.used === 1);
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 2 } });
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([0, 42]);
});

it('reservations that Redis lost without their budget are not counted for ever', async () => {
  const ingress = await bed.admission();
  const claim = bed.claim({ limits: { tenant: { 'token-budget': { max: 150 } }, key: {} } });
  await ingress.admit(claim);
  await ingress.redis.del(...bookKeys('sluice:{t:acme}'));
  await ingress.admit({ ...claim, requestId: 'after-the-loss' });
  expect((await ingress.usage(claim))[0]?.used).toBe(100);
});
