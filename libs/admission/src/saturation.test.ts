import { FakeClock } from '@sluice/runtime';
import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { saturationRetryAfterMs } from './retry-after.ts';
import { outcomes, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

const meanKey = 'sluice:{p:gpu}:service:mean';
const hourMs = 3_600_000;

it('a pool takes as many requests as it has slots, those that these start within the wait budget, and not one more', async () => {
  const ingress = await bed.admission();
  const pools = fc.record({
    slots: fc.integer({ min: 1, max: 5 }),
    waitBudgetMs: fc.integer({ min: 0, max: 2000 }),
    meanMs: fc.integer({ min: 100, max: 4000 }),
    maxWaiting: fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined }),
  });
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(pools, async ({ slots, waitBudgetMs, meanMs, maxWaiting }) => {
      runs += 1;
      const pool = `gpu${runs}`;
      await ingress.redis.set(`sluice:{p:${pool}}:service:mean`, meanMs);
      const waiting = Math.min(
        maxWaiting ?? Number.POSITIVE_INFINITY,
        Math.max(1, Math.floor((slots * waitBudgetMs) / meanMs)),
      );
      const poolPolicy = { slots, waitBudgetMs, ...(maxWaiting !== undefined && { maxWaiting }) };
      const { kept } = await outcomes(
        Array.from({ length: slots + waiting + 3 }, () => ingress.admit(bed.claim({ pool, poolPolicy }))),
      );
      expect(kept).toBe(slots + waiting);
    }),
    { numRuns: 40 },
  );
});

it('a request for more generations than a pool ever has room for is refused for good, and only that', async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 2, waitBudgetMs: 0 };
  const ask = (jobs: number) => ingress.admit(bed.claim({ jobs, poolPolicy }));
  const tooLarge = {
    kind: 'saturated',
    message: 'pool gpu has 2 slots, and no room for 6 generations at once',
    options: { retryable: false },
  };
  await expect(ask(6)).rejects.toMatchObject(tooLarge);
  const ticket = await ask(1);
  // While the pool is busy as well: no place that comes back is enough.
  await expect(ask(6)).rejects.toMatchObject(tooLarge);
  await expect(ask(5)).rejects.toMatchObject({ kind: 'saturated', options: { retryAfterMs: 4000 } });
  await ticket.settle({});
  await until(() => ask(5).catch(() => undefined));
});

it('a pool whose mean was never measured lets some wait, by an assumed one', async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 2, waitBudgetMs: 10_000 };
  const { kept } = await outcomes(Array.from({ length: 20 }, () => ingress.admit(bed.claim({ poolPolicy }))));
  expect(kept).toBe(2 + 10);
});

it('the mean service time begins with the first generation and follows the later ones', async () => {
  const ingress = await bed.admission();
  for (const durationMs of [1000, 2000]) await (await ingress.admit(bed.claim())).settle({ durationMs });
  await (await ingress.admit(bed.claim())).settle({});
  expect(Number(await ingress.redis.get(meanKey))).toBeCloseTo(1100);
  // The one that took no time that is known has ended, too.
  expect(await ingress.inspect()).toMatchObject({ open: 0, unsettled: 0 });
});

it('a generation that failed or was left counts where it had its slot for longer than the mean', async () => {
  const ingress = await bed.admission();
  const settle = async (times: { durationMs: number } | { heldMs: number }) =>
    (await ingress.admit(bed.claim())).settle(times);
  const mean = async () => Number(await ingress.redis.get(meanKey));
  // Of a pool without a mean, only what takes longer than the assumed one.
  await settle({ heldMs: 5 });
  expect(await ingress.redis.get(meanKey)).toBeNull();
  await settle({ heldMs: 6_000 });
  expect(await mean()).toBe(6_000);
  await settle({ heldMs: 5_000 });
  expect(await mean()).toBe(6_000);
  await settle({ durationMs: 5_000 });
  expect(await mean()).toBeCloseTo(5_900);
  await settle({ heldMs: 60_000 });
  expect(await mean()).toBeCloseTo(11_310);
});

it('generations that end at the same time all count in the mean', async () => {
  const ingress = await bed.admission();
  const tickets = await Promise.all([1000, 2000].map(() => ingress.admit(bed.claim())));
  await Promise.all(tickets.map((ticket, index) => ticket.settle({ durationMs: 1000 * (index + 1) })));
  expect(Number(await ingress.redis.get(meanKey))).toBeCloseTo(1100);
});

it('a request whose workers are done gives its place to another, and is still charged when it ends', async () => {
  const ingress = await bed.admission();
  const limits = { tenant: { 'token-budget': { max: 1000 } }, key: {} };
  const claim = () => bed.claim({ limits, poolPolicy: { slots: 1, waitBudgetMs: 0, maxWaiting: 0 } });
  const first = await ingress.admit(claim());
  await expect(ingress.admit(claim())).rejects.toMatchObject({ kind: 'saturated' });
  first.freePlaces(2000);
  first.freePlaces(9000);
  const second = await until(() => ingress.admit(claim()).catch(() => undefined));
  expect(Number(await ingress.redis.get(meanKey))).toBe(2000);
  await first.settle({ usage: { inputTokens: 30, outputTokens: 5 }, durationMs: 60_000 });
  expect(Number(await ingress.redis.get(meanKey))).toBe(2000);
  const ofTenant = 'sluice:{p:gpu}:leases:of:acme:mean';
  expect((await ingress.redis.keys('*:mean')).sort()).toEqual([ofTenant, meanKey]);
  // A quiet night does not make a pool forget its mean. That of a tenant serves while tenants share.
  expect(await ingress.redis.pttl(meanKey)).toBeGreaterThan(12 * hourMs);
  const tenantLifeMs = await ingress.redis.pttl(ofTenant);
  expect(tenantLifeMs).toBeGreaterThan(hourMs / 60);
  expect(tenantLifeMs).toBeLessThan(hourMs);
  const usage = await ingress.usage({ tenant: 'acme', keyId: 'key_1', limits });
  expect(usage).toMatchObject([{ limit: 'token-budget', used: 35 + 100 }]);
  await expect(ingress.admit(claim())).rejects.toMatchObject({ kind: 'saturated' });
  await second.settle({});
  expect((await ingress.inspect()).open).toBe(0);
});

it('a saturated pool says when its backlog is worked off', async () => {
  const ingress = await bed.admission();
  await ingress.redis.set(meanKey, 3000);
  const poolPolicy = { slots: 2, waitBudgetMs: 4500 };
  for (let index = 0; index < 5; index += 1) await ingress.admit(bed.claim({ poolPolicy }));
  await expect(ingress.admit(bed.claim({ poolPolicy }))).rejects.toMatchObject({
    kind: 'saturated',
    message: 'pool gpu is saturated: 5 generations for 2 slots',
    options: { retryAfterMs: (4 * 3000) / 2 },
  });
});

it('the time to come back is between 1 and 60 seconds and never falls with the backlog', () => {
  const positive = fc.integer({ min: 1, max: 100_000 });
  fc.assert(
    fc.property(positive, positive, positive, positive, (inFlight, more, slots, meanMs) => {
      const near = saturationRetryAfterMs({ inFlight, slots, meanMs });
      const far = saturationRetryAfterMs({ inFlight: inFlight + more, slots, meanMs });
      expect(near).toBeGreaterThanOrEqual(1000);
      expect(far).toBeLessThanOrEqual(60_000);
      expect(far).toBeGreaterThanOrEqual(near);
    }),
  );
});

it('a pool without workers is unavailable, not saturated, and takes nothing', async () => {
  const ingress = await bed.admission();
  await expect(
    ingress.admit(bed.claim({ poolPolicy: { slots: 0, waitBudgetMs: 1000 } })),
  ).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'no worker serves pool gpu at the moment',
    options: { refusedBy: 'workers', retryAfterMs: 2000 },
  });
  expect(await ingress.redis.dbsize()).toBe(0);
});

it('a full pool is asked once per place that came back, and refuses the others by itself', async () => {
  const ingress = await bed.admission({ clock: new FakeClock() });
  const claim = () => bed.claim({ poolPolicy: { slots: 1, waitBudgetMs: 0, maxWaiting: 0 } });
  const ticket = await ingress.admit(claim());
  await expect(ingress.admit(claim())).rejects.toMatchObject({
    kind: 'saturated',
    options: { refusedBy: 'saturation' },
  });
  expect(() => ingress.checkPools(['gpu'], 'acme')).toThrow(
    'pool gpu is saturated: 1 generations for 1 slots',
  );
  expect(() => ingress.checkPools(['gpu', 'cpu'], 'acme')).not.toThrow();
  expect(() => ingress.checkPools(['cpu', 'gpu'], 'acme')).not.toThrow();
  expect(() => ingress.checkPools([], 'acme')).not.toThrow();
  // Only the first of these gives its place back.
  await ticket.settle({});
  await ticket.settle({});
  ticket.freePlaces(1);
  expect(() => ingress.checkPools(['gpu'], 'acme')).not.toThrow();
  const next = await ingress.admit(claim());
  expect(() => ingress.checkPools(['gpu'], 'acme')).toThrow('is saturated');
  next.freePlaces(1);
  await ingress.admit(claim());
  // Its place has come back already.
  await next.settle({});
  expect(() => ingress.checkPools(['gpu'], 'acme')).toThrow('is saturated');
});

it('of two requests that come at once for one place that came back, only the first asks', async () => {
  const ingress = await bed.admission({ clock: new FakeClock() });
  const claim = () => bed.claim({ poolPolicy: { slots: 1, waitBudgetMs: 0, maxWaiting: 0 } });
  const ticket = await ingress.admit(claim());
  const refusal: unknown = await ingress.admit(claim()).catch((error: unknown) => error);
  await ticket.settle({});
  const [first, second] = await Promise.allSettled([ingress.admit(claim()), ingress.admit(claim())]);
  expect(first.status).toBe('fulfilled');
  // The very one that is remembered: Redis would have given one of its own.
  expect(second.status === 'rejected' && second.reason).toBe(refusal);
});

it('a caller with policies is refused by a full pool without asking, too, and can find it open again', async () => {
  const ingress = await bed.admission({ clock: new FakeClock() });
  const limits = { tenant: { 'token-budget': { max: 1000 } }, key: {} };
  const claim = () => bed.claim({ limits, poolPolicy: { slots: 1, waitBudgetMs: 0, maxWaiting: 0 } });
  const ticket = await ingress.admit(claim());
  await expect(ingress.admit(claim())).rejects.toMatchObject({ kind: 'saturated' });
  expect(() => ingress.checkPools(['gpu'], 'acme')).toThrow(
    'pool gpu is saturated: 1 generations for 1 slots',
  );
  await ticket.settle({});
  await ingress.admit(claim());
  // The place that came back is used up.
  expect(() => ingress.checkPools(['gpu'], 'acme')).toThrow(
    'pool gpu is saturated: 1 generations for 1 slots',
  );
  ingress.redis.disconnect();
  await expect(ingress.admit(claim())).rejects.toMatchObject({ kind: 'saturated' });
});

it('a freed place is not spent on a request that a policy refuses', async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 1, waitBudgetMs: 0, maxWaiting: 0 };
  const ticket = await ingress.admit(bed.claim({ poolPolicy }));
  await expect(ingress.admit(bed.claim({ poolPolicy }))).rejects.toMatchObject({ kind: 'saturated' });
  await ticket.settle({});
  const limits = { tenant: { concurrency: { max: 1 } }, key: {} };
  const greedy = bed.claim({ poolPolicy, limits, tenant: 'greedy', pool: 'other' });
  await ingress.admit(greedy);
  await expect(ingress.admit({ ...greedy, requestId: 'second', pool: 'gpu' })).rejects.toMatchObject({
    kind: 'rate-limited',
  });
  await ingress.admit(bed.claim({ poolPolicy }));
});

it('a request that comes later to a busy pool waits behind the others, even if the pool is emptier by then', async () => {
  const ingress = await bed.admission();
  const busySince = async () => Number(await ingress.redis.get('sluice:{p:gpu}:busy:since'));
  const poolPolicy = { slots: 2, waitBudgetMs: 10_000 };
  const admit = () => ingress.admit(bed.claim({ poolPolicy }));
  const first = await admit();
  expect([first.priorityOf(0), await busySince()]).toEqual([1, 0]);
  const [second, third] = [await admit(), await admit()];
  const since = await busySince();
  expect(since).toBeGreaterThan(0);
  // Ten seconds later all of them have left.
  await ingress.redis.set('sluice:{p:gpu}:busy:since', since - 10_000, 'KEEPTTL');
  for (const ticket of [first, second, third]) await ticket.settle({});
  const later = await admit();
  expect(later.priorityOf(0)).toBeGreaterThan(third.priorityOf(0));
  expect(await ingress.redis.pttl('sluice:{p:gpu}:busy:since')).toBeGreaterThan(0);
});

it('a pool is busy once half of its slots are taken', async () => {
  const ingress = await bed.admission();
  const isBusy = async () => (await ingress.redis.exists('sluice:{p:gpu}:busy:since')) === 1;
  const admit = () => ingress.admit(bed.claim({ poolPolicy: { slots: 6, waitBudgetMs: 0 } }));
  for (let index = 0; index < 3; index += 1) await admit();
  expect(await isBusy()).toBe(false);
  await admit();
  expect(await isBusy()).toBe(true);
});

it('a tenant of which one request is admitted and another refused in the same turn has its share', async () => {
  const ingress = await bed.admission();
  const admit = () => ingress.admit(bed.claim({ poolPolicy: { slots: 1, waitBudgetMs: 0 } }));
  await admit();
  const { kept } = await outcomes([admit(), admit(), admit()]);
  expect(kept).toBe(1);
  const sharers = await ingress.redis.smembers('sluice:{p:gpu}:busy:tenants');
  expect(sharers).toEqual(['sluice:{p:gpu}:leases:of:acme']);
});

/** Ages the key that remembers since when the pool is busy, in its value and in its expiry. */
async function letPass(redis: Redis, durationMs: number): Promise<void> {
  const key = 'sluice:{p:gpu}:busy:since';
  await redis.set(key, Number(await redis.get(key)) - durationMs, 'KEEPTTL');
  await redis.pexpire(key, (await redis.pttl(key)) - durationMs);
}

it('a request that waits for slow generations is not overtaken by those that come minutes later', async () => {
  const ingress = await bed.admission();
  await ingress.redis.set(meanKey, 300_000);
  const poolPolicy = { slots: 1, waitBudgetMs: 1_000_000 };
  await ingress.admit(bed.claim({ poolPolicy }));
  const waiting = await ingress.admit(bed.claim({ poolPolicy }));
  await letPass(ingress.redis, 400_000);
  const later = await ingress.admit(bed.claim({ poolPolicy, tenant: 'other' }));
  expect(later.priorityOf(0)).toBeGreaterThan(waiting.priorityOf(0));
});

it('a waiting request keeps its place when the clock of Redis is set back', async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 1, waitBudgetMs: 100_000 };
  const admit = () => ingress.admit(bed.claim({ poolPolicy }));
  await admit();
  const waiting = await admit();
  await letPass(ingress.redis, -3_600_000);
  const later = [await admit(), await admit()].map((ticket) => ticket.priorityOf(0));
  expect(later[0]).toBeGreaterThan(waiting.priorityOf(0));
  expect(later[1]).toBeGreaterThan(later[0] ?? 0);
});

it('a pool that was calm for a minute counts its time anew', async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 2, waitBudgetMs: 10_000 };
  const admit = () => ingress.admit(bed.claim({ poolPolicy }));
  const tickets = [await admit(), await admit(), await admit()];
  await letPass(ingress.redis, 30_000);
  for (const ticket of tickets) await ticket.settle({});
  const soon = await admit();
  expect(soon.priorityOf(0)).toBeGreaterThan(1);
  await soon.settle({});
  await letPass(ingress.redis, 31_000);
  expect((await admit()).priorityOf(0)).toBe(1);
  await admit();
  const [seconds] = await ingress.redis.time();
  const since = Number(await ingress.redis.get('sluice:{p:gpu}:busy:since'));
  expect(since).toBeGreaterThan(Number(seconds) * 1000 - 30_000);
});

it('a flood of one tenant leaves places to others, and none of these takes them all', async () => {
  const ingress = await bed.admission({ clock: new FakeClock() });
  const poolPolicy = { slots: 4, waitBudgetMs: 0 };
  const admitted = async (tenant: string) => {
    let count = 0;
    const claim = () => bed.claim({ tenant, poolPolicy });
    while (await ingress.admit(claim()).catch(() => undefined)) count += 1;
    return count;
  };
  expect(await admitted('flood')).toBe(5);
  expect(await admitted('other')).toBe(2);
  expect(await admitted('third')).toBe(1);
  expect(() => ingress.checkPools(['gpu'], 'third')).toThrow('pool gpu is saturated');
  expect(() => ingress.checkPools(['gpu'], 'fourth')).not.toThrow();
  expect(await admitted('fourth')).toBe(1);
  expect(await admitted('fifth')).toBe(0);
  expect(() => ingress.checkPools(['gpu'], 'sixth')).toThrow(
    'pool gpu is saturated: 9 generations for 4 slots',
  );
});

describe('the first tenant that has no place in a full pool, and finds none free,', () => {
  const turn = 'sluice:{p:gpu}:busy:turn';
  const poolPolicy = { slots: 1, waitBudgetMs: 0 };
  // Each on an ingress of its own, none of which knows that the pool was full a moment ago.
  const ask = async (tenant: string) => (await bed.admission()).admit(bed.claim({ tenant, poolPolicy }));
  const refusal = { kind: 'saturated', options: { retryAfterMs: expect.any(Number) } };

  it('gets the next one that is free, and not who has just left it', async () => {
    const [one] = [await ask('one'), await ask('two'), await ask('three')];
    await expect(ask('late')).rejects.toMatchObject(refusal);
    await expect(ask('later')).rejects.toMatchObject(refusal);
    await one.settle({});
    await expect(ask('one')).rejects.toMatchObject(refusal);
    const late = await ask('late');
    await late.settle({});
    await ask('one');
  });

  it('has it kept for a minute, if it does not come', async () => {
    const [one] = [await ask('one'), await ask('two'), await ask('three')];
    await expect(ask('late')).rejects.toMatchObject(refusal);
    await one.settle({});
    const { redis } = await bed.admission();
    expect(await redis.pttl(turn)).toBeGreaterThan(50_000);
    expect(await redis.pttl(turn)).toBeLessThanOrEqual(60_000);
    await redis.del(turn);
    await ask('one');
  });

  it('has none kept that slots or waiting requests need', async () => {
    await ask('one');
    const { redis } = await bed.admission();
    await redis.set(turn, 'sluice:{p:gpu}:leases:of:gone 1');
    await ask('two');
    await expect(ask('three')).rejects.toMatchObject(refusal);
  });
});

it("the operator's maximum of waiting requests holds for every tenant", async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 2, waitBudgetMs: 60_000, maxWaiting: 1 };
  for (let index = 0; index < 3; index += 1) await ingress.admit(bed.claim({ poolPolicy }));
  await expect(ingress.admit(bed.claim({ poolPolicy, tenant: 'other' }))).rejects.toMatchObject({
    kind: 'saturated',
  });
});

it('a pool whose generations take no time has an end, too', async () => {
  const ingress = await bed.admission();
  await ingress.redis.set(meanKey, 0);
  const poolPolicy = { slots: 2, waitBudgetMs: 3 };
  const { kept } = await outcomes(Array.from({ length: 20 }, () => ingress.admit(bed.claim({ poolPolicy }))));
  expect(kept).toBe(2 + 2 * 3);
});

it('of very many tenants in a full pool, none gets more than its share', async () => {
  const ingress = await bed.admission();
  // Half a slot for each, which serves five of its requests within the wait budget and one generation.
  const poolPolicy = { slots: 300, waitBudgetMs: 20_000 };
  const admit = (tenant: string) => ingress.admit(bed.claim({ tenant, poolPolicy }));
  await Promise.all(Array.from({ length: 600 }, (_, index) => admit(`t${index}`)));
  await Promise.all(Array.from({ length: 300 }, (_, index) => admit(`t${index}`)));
  // Measured so long ago that it is measured anew.
  await ingress.redis.del('sluice:{p:gpu}:busy:unit-share');
  const { kept } = await outcomes(Array.from({ length: 20 }, () => admit('t599')));
  expect(kept).toBe(5);
});

it('a tenant that has left a full pool is forgotten with its weight', async () => {
  const ingress = await bed.admission();
  const poolPolicy = { slots: 1, waitBudgetMs: 100_000 };
  const admit = (tenant: string, weight: number) => ingress.admit(bed.claim({ tenant, weight, poolPolicy }));
  const tickets = [await admit('gone', 3), await admit('gone', 3), await admit('gone', 3)];
  const ofPool = (name: string) => `sluice:{p:gpu}:${name}`;
  expect(await ingress.redis.hkeys(ofPool('busy:weights'))).toEqual([ofPool('leases:of:gone')]);
  for (const ticket of tickets) await ticket.settle({});
  for (let index = 0; index < 2; index += 1) {
    // Measured so long ago that it is measured anew.
    await ingress.redis.del(ofPool('busy:unit-share'));
    await admit('here', 1);
  }
  expect(await ingress.redis.smembers(ofPool('busy:tenants'))).toEqual([ofPool('leases:of:here')]);
  expect(await ingress.redis.hgetall(ofPool('busy:weights'))).toEqual({});
});

it('a share that was measured before the clock of Redis was set back is measured anew', async () => {
  const ingress = await bed.admission();
  const admit = () => ingress.admit(bed.claim({ poolPolicy: { slots: 1, waitBudgetMs: 100_000 } }));
  for (let index = 0; index < 2; index += 1) await admit();
  await ingress.redis.set('sluice:{p:gpu}:busy:unit-share', `0.001 ${Date.now() + 3_600_000}`);
  await admit();
});
