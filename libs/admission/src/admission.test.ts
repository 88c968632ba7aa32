import { SluiceError } from '@sluice/canonical';
import type { Limits } from '@sluice/tenancy';
import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Ticket } from './claim.ts';
import { outcomes, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

const ofTenant = (limits: Limits) => ({ tenant: limits, key: {} });
const ofKey = (limits: Limits) => ({ tenant: {}, key: limits });

describe.each<[string, Limits]>([
  ['concurrency', { concurrency: { max: 10 } }],
  ['request-rate', { 'request-rate': { max: 10, periodMs: 86_400_000 } }],
  ['token-rate', { 'token-rate': { max: 1000, periodMs: 86_400_000 } }],
  ['token-budget', { 'token-budget': { max: 1000 } }],
])('%s', (name, limits) => {
  it('admits exactly 10 of 500 that come at once over two connections', async () => {
    const ingresses = [await bed.admission(), await bed.admission()];
    const scoped = ofTenant(limits);
    const { kept, errors } = await outcomes(
      Array.from(
        { length: 500 },
        (_, index) => ingresses[index % 2]?.admit(bed.claim({ limits: scoped })) ?? Promise.resolve(),
      ),
    );
    expect(kept).toBe(10);
    expect(
      errors.every(
        (error) =>
          error instanceof SluiceError &&
          error.message.startsWith(`${name} of this tenant`) &&
          error.options.refusedBy === name,
      ),
    ).toBe(true);
  });

  it('counts keys apart and their tenant together', async () => {
    const ingress = await bed.admission();
    const admit = (keyId: string) => ingress.admit(bed.claim({ keyId, limits: { tenant: {}, key: limits } }));
    await Promise.all(Array.from({ length: 10 }, () => admit('key_1')));
    await expect(admit('key_1')).rejects.toThrow(`${name} of this key`);
    await admit('key_2');
  });

  it('one request id takes once, however often it asks', async () => {
    const ingress = await bed.admission();
    const claim = bed.claim({ limits: ofTenant(limits) });
    for (let time = 0; time < 12; time += 1) await ingress.admit(claim);
    expect((await ingress.usage(claim))[0]?.used).toBeLessThanOrEqual(100);
    const others = Array.from({ length: 9 }, () => bed.claim({ limits: ofTenant(limits) }));
    for (const other of others) await ingress.admit(other);
    // Nor is it refused, now that nothing is left for others.
    await ingress.admit(claim);
    await expect(ingress.admit(bed.claim({ limits: ofTenant(limits) }))).rejects.toThrow(name);
  });
});

it('settling replaces the estimate by the usage, once', async () => {
  const ingress = await bed.admission();
  const limits = ofTenant({
    'token-budget': { max: 1000 },
    'token-rate': { max: 1_000_000, periodMs: 86_400_000_000 },
    // A request counts as one, whatever it spends.
    'request-rate': { max: 1_000, periodMs: 86_400_000_000 },
  });
  const claim = bed.claim({ limits });
  const ticket = await ingress.admit(claim);
  const used = async () =>
    Object.fromEntries((await ingress.usage(claim)).map((each) => [each.limit, Math.round(each.used)]));
  expect(await used()).toEqual({ 'token-budget': 100, 'token-rate': 100, 'request-rate': 1 });
  for (let time = 0; time < 3; time += 1)
    await ticket.settle({ usage: { inputTokens: 30, outputTokens: 5 } });
  expect(await used()).toEqual({ 'token-budget': 35, 'token-rate': 35, 'request-rate': 1 });
});

it.each([
  ['nothing reported: the input estimate and the output seen', {}, 47],
  ['only output reported: the input estimate with it', { outputTokens: 9 }, 49],
  ['zeros reported: nothing ran, nothing is charged', { inputTokens: 0, outputTokens: 0 }, 0],
  ['more than was reserved: all of it', { inputTokens: 40, outputTokens: 400 }, 440],
])('%s', async (_name, usage, charged) => {
  const ingress = await bed.admission();
  const claim = bed.claim({ limits: ofTenant({ 'token-budget': { max: 1000 } }) });
  const ticket = await ingress.admit(claim);
  ticket.sawOutput(7);
  ticket.sawOutput(3);
  await ticket.settle({ usage });
  expect(await ingress.usage(claim)).toMatchObject([{ limit: 'token-budget', used: charged, max: 1000 }]);
});

it('spent and reserved tokens never exceed a budget, at any sample', async () => {
  const ingress = await bed.admission();
  const limits = ofTenant({ 'token-budget': { max: 1000 } });
  const samples: number[] = [];
  await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const claim = bed.claim({ limits });
      const ticket = await ingress.admit(claim).catch(() => undefined);
      samples.push((await ingress.usage(claim))[0]?.used ?? 0);
      await ticket?.settle({ usage: { inputTokens: 40, outputTokens: index } });
    }),
  );
  expect(Math.max(...samples)).toBeLessThanOrEqual(1000);
});

it('a refusal by the pool gives back what the tenant had taken', async () => {
  const ingress = await bed.admission();
  const limits = {
    tenant: { concurrency: { max: 5 }, 'token-budget': { max: 1000 } },
    key: { 'request-rate': { max: 5, periodMs: 86_400_000_000 } },
  };
  const poolPolicy = { slots: 1, waitBudgetMs: 0, maxWaiting: 0 };
  const admitted = bed.claim({ limits, poolPolicy });
  await ingress.admit(admitted);
  const before = await ingress.usage(admitted);
  await expect(ingress.admit(bed.claim({ limits, poolPolicy }))).rejects.toMatchObject({ kind: 'saturated' });
  const after = await ingress.usage(admitted);
  expect(after.map(({ used }) => Math.round(used))).toEqual(before.map(({ used }) => Math.round(used)));
});

it('a refusal by one limit takes nothing from the others', async () => {
  const ingress = await bed.admission();
  const limits = ofTenant({ concurrency: { max: 5 }, 'token-budget': { max: 10 } });
  const claim = bed.claim({ limits });
  await expect(ingress.admit(claim)).rejects.toMatchObject({ kind: 'budget-exhausted' });
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([0, 0]);
});

it('several choices count as so many generations', async () => {
  const ingress = await bed.admission();
  const limits = ofKey({ concurrency: { max: 4 }, 'token-budget': { max: 1000 } });
  const claim = bed.claim({ limits, jobs: 3 });
  const ticket = await ingress.admit(claim);
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([3, 40 + 3 * 60]);
  await expect(ingress.admit(bed.claim({ limits, jobs: 4 }))).rejects.toThrow(
    'concurrency of this key is 4: 3 generations are in flight, and the request asks for 4',
  );
  await ticket.settle({});
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([0, 40]);
});

it('a generation that names no maximum reserves 1,024 tokens of output', async () => {
  const ingress = await bed.admission();
  const { maxOutputTokens: _, ...claim } = bed.claim({ limits: ofTenant({ 'token-budget': { max: 9999 } }) });
  await ingress.admit(claim);
  expect((await ingress.usage(claim)).map(({ used }) => used)).toEqual([40 + 1024]);
});

it('what a limit can never hold is refused for good', async () => {
  const ingress = await bed.admission();
  const never = async (limits: Limits, jobs = 1) =>
    ingress.admit(bed.claim({ limits: ofTenant(limits), jobs })).catch((error) => error.options);
  const forGood = (refusedBy: string) => ({ refusedBy, retryable: false });
  expect(await never({ concurrency: { max: 2 } }, 3)).toEqual(forGood('concurrency'));
  expect(await never({ 'token-rate': { max: 39, periodMs: 60_000 } })).toEqual(forGood('token-rate'));
  expect(await never({ 'token-budget': { max: 99 } })).toEqual(forGood('token-budget'));
});

it('a budget refuses for a moment what only reservations leave no room for, and for good what is spent', async () => {
  const ingress = await bed.admission();
  const limits = ofTenant({ 'token-budget': { max: 250 } });
  const ask = () => ingress.admit(bed.claim({ limits }));
  const tickets = [await ask(), await ask()];
  await expect(ask()).rejects.toMatchObject({ kind: 'rate-limited', options: { retryAfterMs: 1000 } });
  await tickets[0]?.settle({ usage: { inputTokens: 40, outputTokens: 10 } });
  tickets.push(await ask());
  for (const ticket of tickets) await ticket.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  await expect(ask()).rejects.toMatchObject({ kind: 'budget-exhausted', options: { retryable: false } });
});

it('a claim with more output than a token rate ever holds waits for a full bucket', async () => {
  const ingress = await bed.admission();
  const limits = ofTenant({ 'token-rate': { max: 50, periodMs: 86_400_000 } });
  const ticket = await ingress.admit(bed.claim({ limits, maxOutputTokens: 32_000 }));
  await expect(ingress.admit(bed.claim({ limits, maxOutputTokens: 32_000 }))).rejects.toMatchObject({
    kind: 'rate-limited',
    options: { retryAfterMs: 60_000 },
  });
  await ticket.settle({ usage: { inputTokens: 1, outputTokens: 1 } });
});

it('a spent request rate says when the next request fits', async () => {
  const ingress = await bed.admission();
  const limits = ofTenant({ 'request-rate': { max: 3, periodMs: 120_000 } });
  for (let index = 0; index < 3; index += 1) await ingress.admit(bed.claim({ limits }));
  const { retryAfterMs } = await ingress.admit(bed.claim({ limits })).catch((error) => error.options);
  expect(retryAfterMs).toBeGreaterThan(30_000);
  expect(retryAfterMs).toBeLessThanOrEqual(40_000);
});

it('of several limits that refuse, the one that refuses for longest answers', async () => {
  const ingress = await bed.admission();
  const limits = {
    key: { concurrency: { max: 1 }, 'request-rate': { max: 1, periodMs: 40_000 } },
    tenant: { 'request-rate': { max: 2, periodMs: 160_000 }, 'token-budget': { max: 150 } },
  };
  const ask = () => ingress.admit(bed.claim({ limits })).catch((error) => error);
  const ticket = await ingress.admit(bed.claim({ limits }));
  // Its budget is refused only for reservations, and the tenant's rate has room.
  const first = await ask();
  expect(first.message).toMatch(/^request-rate of this key/);
  expect(first.options.retryAfterMs).toBeGreaterThan(30_000);
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  expect(await ask()).toMatchObject({ kind: 'budget-exhausted', options: { retryable: false } });
});

it('a stored policy that is not valid stops its tenant and nobody else', async () => {
  const ingress = await bed.admission();
  await expect(
    ingress.admit(bed.claim({ limits: ofTenant({ concurrency: { most: 1 } }) })),
  ).rejects.toMatchObject({ kind: 'internal' });
  await expect(
    ingress.admit(bed.claim({ limits: ofTenant({ 'daily-cost': { max: 1 } }) })),
  ).rejects.toMatchObject({ kind: 'internal' });
  await ingress.admit(bed.claim());
});

it('a tenant with many requests in a pool waits behind the first of another tenant', async () => {
  const ingress = await bed.admission();
  const tickets: [string, Ticket][] = [];
  // Longer than a busy machine takes to admit them all.
  await ingress.redis.set('sluice:{p:gpu}:service:mean', 60_000);
  const admit = async (tenant: string) => {
    const poolPolicy = { slots: 1, waitBudgetMs: 6_000_000 };
    tickets.push([tenant, await ingress.admit(bed.claim({ tenant, poolPolicy }))]);
  };
  for (let index = 0; index < 20; index += 1) await admit('busy');
  for (let index = 0; index < 2; index += 1) await admit('calm');
  const order = tickets
    .toSorted(([, a], [, b]) => a.priorityOf(0) - b.priorityOf(0))
    .map(([tenant]) => tenant);
  // The busy tenant's second comes after one service time, and by then the calm one's first has come.
  expect(order.slice(0, 5)).toEqual(['busy', 'calm', 'busy', 'calm', 'busy']);
  for (const [, ticket] of tickets) await ticket.settle({});
  const [busy, calm] = [bed.claim({ tenant: 'busy' }), bed.claim({ tenant: 'calm' })];
  expect((await ingress.admit(busy)).priorityOf(0)).toBeLessThanOrEqual(
    (await ingress.admit(calm)).priorityOf(0),
  );
});

it('other pools do not count for the place in this one', async () => {
  const ingress = await bed.admission();
  await ingress.admit(bed.claim({ pool: 'other' }));
  expect((await ingress.admit(bed.claim())).priorityOf(0)).toBe(1);
});

it('the requests of one turn cost one script to admit and one to settle, whatever their callers and limits', async () => {
  const ingress = await bed.admission();
  const scripts = async (work: () => Promise<unknown>) => {
    await ingress.redis.config('RESETSTAT');
    await work();
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await ingress.redis.info('commandstats'))?.[1]);
  };
  const limits = ofTenant({ concurrency: { max: 9 } });
  const claims = () => ['a', 'b'].flatMap((tenant) => [bed.claim({ tenant }), bed.claim({ tenant, limits })]);
  const admit = () => Promise.all(claims().map((claim) => ingress.admit(claim)));
  const tickets = await admit();
  expect(await scripts(() => Promise.all(tickets.map((ticket) => ticket.settle({}))))).toBe(1);
  expect(await scripts(admit)).toBe(1);
});

it('policies change nothing about the place in the pool', async () => {
  const ingress = await bed.admission();
  const priorities = async (pool: string, limits: Limits) => {
    const found: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      const poolPolicy = { slots: 1, waitBudgetMs: 100_000 };
      found.push(
        (await ingress.admit(bed.claim({ pool, poolPolicy, limits: ofTenant(limits) }))).priorityOf(0),
      );
    }
    return found;
  };
  const free = await priorities('one', {});
  expect(new Set(free).size).toBeGreaterThan(2);
  const bound = await priorities('two', { concurrency: { max: 9 }, 'token-budget': { max: 9999 } });
  for (const [index, priority] of bound.entries()) expect(priority).toBeCloseTo(free[index] ?? 0, -3);
});

it('a caller without policies takes places in the pool and nothing else', async () => {
  const ingress = await bed.admission();
  await ingress.admit(bed.claim());
  expect(Object.keys((await ingress.inspect()).books)).toEqual(['sluice:{p:gpu}']);
});

it('nothing breaks when Redis forgets the scripts', async () => {
  const ingress = await bed.admission();
  const ticket = await ingress.admit(bed.claim());
  await ingress.redis.script('FLUSH');
  await ticket.settle({ durationMs: 5 });
  await ingress.redis.script('FLUSH');
  await ingress.admit(bed.claim());
});

it('after the last settlement nothing of any request is left', async () => {
  const ingress = await bed.admission();
  const limits = {
    tenant: { concurrency: { max: 99 }, 'token-rate': { max: 9999, periodMs: 1000 } },
    key: { 'request-rate': { max: 99, periodMs: 1000 }, 'token-budget': { max: 9999 } },
  };
  const tickets = await Promise.all(
    Array.from({ length: 20 }, () => ingress.admit(bed.claim({ limits, jobs: 2 }))),
  );
  expect(await ingress.inspect()).toEqual({
    open: 20,
    unsettled: 0,
    books: {
      'sluice:{p:gpu}': { requests: 20, reservedTokens: 0 },
      'sluice:{t:acme}': { requests: 20, reservedTokens: 20 * 2 * 160 },
    },
  });
  const lasting = async () => {
    const names = await ingress.redis.keys('*');
    const lives = await Promise.all(names.map((name) => ingress.redis.pttl(name)));
    return names.filter((_, index) => (lives[index] ?? 0) < 0);
  };
  expect(await lasting()).toEqual(['sluice:{t:acme}:token-budget:key:key_1']);
  for (const ticket of tickets)
    await ticket.settle({ durationMs: 100, usage: { inputTokens: 1, outputTokens: 1 } });
  // How long generations take is kept for pools alone.
  expect(await ingress.redis.keys('*:service:mean')).toEqual(['sluice:{p:gpu}:service:mean']);
  const { open, unsettled, books } = await ingress.inspect();
  expect([open, unsettled, ...Object.values(books)]).toEqual([
    0,
    0,
    { requests: 0, reservedTokens: 0 },
    { requests: 0, reservedTokens: 0 },
  ]);
  expect(await lasting()).toEqual(['sluice:{t:acme}:token-budget:key:key_1']);
});
