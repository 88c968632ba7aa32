import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Ledger } from './ledger.ts';
import { partOf, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

/** The most that a format allows, and so many requests for them that Lua can't hand their leases over at once. */
const jobs = 128;
const count = 64;
const book = 'sluice:{p:gpu}';
const lease = { primitive: 'lease', key: `${book}:leases:all` } as const;
const part = partOf(book, [{ ...lease, amount: jobs }]);
const ids = Array.from({ length: count }, (_, index) => `r${index}`);

it('requests for many answers each are admitted in one turn, and settled in one', async () => {
  const ingress = await bed.admission();
  const tickets = await Promise.all(ids.map(() => ingress.admit(bed.claim({ jobs }))));
  expect(await ingress.redis.zcard(lease.key)).toBe(count * jobs);
  await Promise.all(tickets.map((ticket) => ticket.settle({})));
  expect(await ingress.redis.exists(lease.key)).toBe(0);
});

it('their leases are renewed together', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  await ledger.renew(book, () => ids.map((requestId) => ({ requestId, part })));
  expect(await redis.zcard(lease.key)).toBe(count * jobs);
});

it('the next request settles them when their ingress has died', async () => {
  const ledger = new Ledger(await bed.connect(), 1);
  await Promise.all(ids.map((requestId) => ledger.reserve({ requestId, inputTokens: 40, parts: [part] })));
  const holdings = await until(async () => {
    const found = await ledger.inspect(book, [lease]);
    return found.requests === 0 ? found : undefined;
  });
  expect(holdings.levels).toEqual([0]);
});
