import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Ticket } from './claim.ts';
import { Ledger } from './ledger.ts';
import { type Asked, partOf, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

const book = 'sluice:{t:acme}';
const longMs = 86_400_000_000;
const request = (requestId: string, asked: Asked) => ({
  requestId,
  inputTokens: 40,
  parts: [partOf(book, [asked])],
});

it('whatever the order of admissions and settlements, the sum charged is the sum of what they spent', async () => {
  const ingresses = [await bed.admission(), await bed.admission()];
  const tokens = fc.integer({ min: 0, max: 200 });
  const step = fc.oneof(
    fc.record({ type: fc.constant('admit' as const), ingress: fc.nat(1), input: tokens, output: tokens }),
    fc.record({ type: fc.constant('settle' as const), ticket: fc.nat(20), input: tokens, output: tokens }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      await ingresses[0]?.redis.flushall();
      const limits = { tenant: { 'token-budget': { max: 2000 }, concurrency: { max: 8 } }, key: {} };
      const tickets: Ticket[] = [];
      const settled = new Set<Ticket>();
      let charged = 0;
      const settle = async (ticket: Ticket | undefined, input: number, output: number) => {
        if (!ticket) return;
        if (!settled.has(ticket)) charged += input + output;
        settled.add(ticket);
        await ticket.settle({ usage: { inputTokens: input, outputTokens: output } });
      };
      for (const each of steps) {
        if (each.type === 'settle') await settle(tickets[each.ticket], each.input, each.output);
        else {
          const claim = bed.claim({ limits, estimatedInputTokens: each.input, maxOutputTokens: each.output });
          const ticket = await ingresses[each.ingress]?.admit(claim).catch(() => undefined);
          if (ticket) tickets.push(ticket);
        }
      }
      for (const ticket of tickets) await settle(ticket, 0, 0);
      const usage = await ingresses[0]?.usage(bed.claim({ limits }));
      expect(usage?.map(({ used }) => used)).toEqual([0, charged]);
    }),
    { numRuns: 30 },
  );
});

it('records are a table in Redis, in which one of many is found at once, however short they are', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const redis = await bed.connect();
  await ledger.reserve(request('short', { primitive: 'lease', amount: 1, key: `${book}:l` }));
  expect(await redis.object('ENCODING', `${book}:records`)).toBe('hashtable');
  expect((await ledger.inspect(book)).requests).toBe(1);
  expect(await ledger.settle({ requestId: 'short', books: [book] })).toBe(true);
  expect(await redis.exists(`${book}:records`)).toBe(0);
});

it('a reservation that arrives after it was given up takes nothing, and is forgotten by itself', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const lease = { primitive: 'lease', amount: 1, max: 1, key: `${book}:l` } as const;
  const givesUp = () => ledger.settle({ requestId: 'late', books: [book] });
  // Repeated, as when the answer to the first was lost.
  expect([await givesUp(), await givesUp()]).toEqual([false, false]);
  for (const key of [`${book}:open`, `${book}:records`, `${book}:given-up`]) {
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    expect(await redis.pttl(key)).toBeLessThanOrEqual(15_000);
  }
  await ledger.reserve(request('late', lease));
  expect(await ledger.inspect(book, [lease])).toEqual({ requests: 0, reserved: 0, levels: [0] });
  expect((await ledger.reserve(request('next', lease))).refused).toBeUndefined();
  expect(await redis.pttl(`${book}:records`)).toBeGreaterThan(15_000);
  await ledger.settle({ requestId: 'next', books: [book], charge: 0 });
  await redis.zadd(`${book}:open`, 0, 'late');
  await ledger.sweep(book);
  expect(await redis.keys('*')).toEqual([`${book}:given-up`]);
});

it('a book in which another request holds something is kept as long after one was given up', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  await ledger.reserve(request('held', { primitive: 'lease', amount: 1, max: 1, key: `${book}:l` }));
  await ledger.settle({ requestId: 'late', books: [book] });
  for (const key of [`${book}:open`, `${book}:records`])
    expect(await redis.pttl(key)).toBeGreaterThan(86_400_000);
});

it('a rate never lets more through than a full bucket and what flowed in since', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const [max, periodMs] = [20, 200];
  const startedAt = performance.now();
  let granted = 0;
  for (let index = 0; granted <= max || performance.now() - startedAt < 3 * periodMs; index += 1) {
    const hold = {
      primitive: 'rate',
      amount: 1,
      max,
      periodMs,
      settles: false,
      key: `${book}:rate`,
    } as const;
    const { refused } = await ledger.reserve(request(`r${index}`, hold));
    if (refused === undefined) granted += 1;
    const flowed = ((performance.now() - startedAt + 1) * max) / periodMs;
    expect(granted).toBeLessThanOrEqual(max + flowed);
  }
});

it('a refused rate fits after exactly the wait that it named', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const hold = {
    primitive: 'rate',
    amount: 3,
    max: 4,
    periodMs: 400,
    settles: false,
    key: `${book}:rate`,
  } as const;
  await ledger.reserve(request('first', hold));
  const { refused, waitMs = 0 } = await ledger.reserve(request('second', hold));
  expect([refused, waitMs > 0, waitMs <= 200]).toEqual([0, true, true]);
  await until(async () => {
    const answer = await ledger.reserve(request('third', hold));
    return answer.refused === undefined;
  });
});

it('a budget with a period begins anew, and what is reserved stays reserved', async () => {
  const ingress = await bed.admission();
  const limits = { tenant: { 'token-budget': { max: 250, periodMs: 300 } }, key: {} };
  const claim = bed.claim({ limits });
  const open = await until(() => ingress.admit(claim).catch(() => undefined));
  const spent = await until(() => ingress.admit(bed.claim({ limits })).catch(() => undefined));
  await spent.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  await until(async () => (await ingress.usage(claim))[0]?.used === 100);
  await open.settle({ usage: { inputTokens: 0, outputTokens: 0 } });
  await until(async () => (await ingress.usage(claim))[0]?.used === 0);
});

it('a budget with a period says when it begins anew, but not to a claim that will not fit even then', async () => {
  const ingress = await bed.admission();
  const hour = 3_600_000;
  const limits = { tenant: { 'token-budget': { max: 150, periodMs: 1000 * hour } }, key: {} };
  const ticket = await ingress.admit(bed.claim({ limits }));
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 60 } });
  const refusal = (maxOutputTokens: number) =>
    ingress
      .admit(bed.claim({ limits, maxOutputTokens }))
      .catch(({ kind, options }) => ({ kind, ...options }));
  const leftMs = 1000 * hour - (Date.now() % (1000 * hour));
  const { kind, retryable, retryAfterMs } = await refusal(60);
  expect({ kind, retryable }).toEqual({ kind: 'budget-exhausted', retryable: false });
  expect(Math.abs(retryAfterMs - leftMs)).toBeLessThan(hour);
  const forGood = { kind: 'budget-exhausted', refusedBy: 'token-budget', retryable: false };
  expect(await refusal(111)).toEqual(forGood);
});

it('a settlement has an effect once and says so', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const hold = { primitive: 'budget', amount: 100, max: 1000, key: `${book}:budget` } as const;
  await ledger.reserve(request('r', hold));
  expect(await ledger.settle({ requestId: 'r', books: [book], charge: 60 })).toBe(true);
  expect(await ledger.settle({ requestId: 'r', books: [book], charge: 60 })).toBe(false);
  expect(await ledger.inspect(book, [hold])).toEqual({ requests: 0, reserved: 0, levels: [60] });
});

it('tokens corrected at the end make room in a rate, or take it', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const hold = {
    primitive: 'rate',
    amount: 500,
    max: 1000,
    periodMs: longMs,
    settles: true,
    key: `${book}:rate`,
  } as const;
  const level = async () => Math.round((await ledger.inspect(book, [hold])).levels[0] ?? 0);
  for (const requestId of ['a', 'b']) await ledger.reserve(request(requestId, hold));
  await ledger.settle({ requestId: 'a', books: [book], charge: 100 });
  expect(await level()).toBe(600);
  await ledger.settle({ requestId: 'b', books: [book], charge: 1500 });
  expect(await level()).toBe(1600);
});

it('a record that names its amounts itself, as a renewal makes it, is settled by them', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const budget = { primitive: 'budget', max: 1000, key: `${book}:budget` } as const;
  await redis.hset(budget.key, { spent: 0, reserved: 100 });
  await redis.hset(`${book}:records`, 'r', `40 0 ${JSON.stringify([{ ...budget, amount: 100 }])}`);
  expect(await ledger.inspect(book, [budget])).toEqual({ requests: 0, reserved: 100, levels: [100] });
  expect(await ledger.settle({ requestId: 'r', books: [book], charge: 60 })).toBe(true);
  expect(await ledger.inspect(book, [budget])).toEqual({ requests: 0, reserved: 0, levels: [60] });
});

it('what began under an older policy neither empties a rate nor renews a budget when it ends', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const rate = (periodMs: number) =>
    ({ primitive: 'rate', amount: 400, max: 1000, periodMs, settles: true, key: `${book}:rate` }) as const;
  const budget = (periodMs: number) =>
    ({ primitive: 'budget', amount: 400, max: 1000, periodMs, key: `${book}:budget` }) as const;
  const levels = async () => {
    const { levels } = await ledger.inspect(book, [rate(longMs), budget(longMs)]);
    return levels.map(Math.round);
  };
  const both = (requestId: string, periodMs: number) => ({
    ...{ requestId, inputTokens: 40 },
    parts: [partOf(book, [rate(periodMs), budget(periodMs)])],
  });
  await ledger.reserve(both('old', 1));
  await ledger.reserve(both('new', longMs));
  await ledger.settle({ requestId: 'new', books: [book], charge: 300 });
  const before = await levels();
  expect(before[0]).toBeGreaterThanOrEqual(300);
  await ledger.settle({ requestId: 'old', books: [book], charge: 500 });
  const after = await levels();
  expect([after[0] ?? 0, after[1] ?? 0]).toEqual([(before[0] ?? 0) + 100, (before[1] ?? 0) + 100]);
  expect(after[1]).toBe(300 + 500);
});

it('what is more than all of a rate or a lease never fits', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const lease = { primitive: 'lease', max: 4, key: `${book}:lease` } as const;
  const rate = { primitive: 'rate', max: 4, periodMs: 400, settles: false, key: `${book}:rate` } as const;
  for (const hold of [lease, rate]) {
    const { refused, waitMs } = await ledger.reserve(request('large', { ...hold, amount: 5 }));
    expect([refused, waitMs]).toEqual([0, undefined]);
  }
});

it('a rate that was filled under another policy runs empty by the one that is asked', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const rate = (max: number, periodMs: number) =>
    ({ primitive: 'rate', max, periodMs, settles: true, key: `${book}:rate` }) as const;
  await ledger.reserve(request('old', { ...rate(100_000, longMs), amount: 90_000 }));
  const hold = rate(10, 200);
  expect((await ledger.inspect(book, [hold])).levels).toEqual([10]);
  await until(async () => {
    const { refused, waitMs = 0 } = await ledger.reserve(request('new', { ...hold, amount: 1 }));
    expect(waitMs).toBeLessThanOrEqual(20);
    return refused === undefined;
  });
});

it('a rate is forgotten when it has run empty, and not before', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const key = `${book}:rate`;
  const hold = { primitive: 'rate', max: 400, periodMs: 60_000, settles: false, key } as const;
  await ledger.reserve(request('r', { ...hold, amount: 300 }));
  const leftMs = await redis.pttl(key);
  // Three quarters of a period, and some of them may have passed.
  expect(leftMs).toBeGreaterThan(15_000);
  expect(leftMs).toBeLessThan(hold.periodMs);
});

it('a budget with a period is forgotten when nobody uses it any more', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const hold = {
    primitive: 'budget',
    amount: 400,
    max: 1000,
    periodMs: 30 * 86_400_000,
    key: `${book}:budget`,
  } as const;
  await ledger.reserve(request('r', hold));
  await ledger.settle({ requestId: 'r', books: [book], charge: 300 });
  expect(await redis.pttl(hold.key)).toBeGreaterThan(2 * hold.periodMs);
});

it('a budget whose period was taken away outlasts what began with one', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const forever = { primitive: 'budget', amount: 400, max: 1000, key: `${book}:budget` } as const;
  await ledger.reserve(request('old', { ...forever, periodMs: 1 }));
  await ledger.reserve(request('new', forever));
  await ledger.settle({ requestId: 'new', books: [book], charge: 300 });
  await ledger.settle({ requestId: 'old', books: [book], charge: 50 });
  expect((await ledger.inspect(book, [forever])).levels).toEqual([350]);
  expect(await redis.pttl(forever.key)).toBe(-1);
});

it('a rate runs empty also when the clock of Redis was set back', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const hold = {
    primitive: 'rate',
    amount: 1,
    max: 1,
    periodMs: 500,
    settles: false,
    key: `${book}:rate`,
  } as const;
  await ledger.reserve(request('first', hold));
  await redis.hset(hold.key, 'at', Date.now() + 3_600_000);
  await redis.persist(hold.key);
  expect(await ledger.reserve(request('refused', hold))).toMatchObject({ refused: 0 });
  await until(async () => (await ledger.inspect(book, [hold])).levels[0] === 0);
});

it('what is left of a rate is counted to the fraction when more is taken', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const hold = {
    primitive: 'rate',
    amount: 1,
    max: 100,
    periodMs: longMs,
    settles: false,
    key: `${book}:rate`,
  } as const;
  await ledger.reserve(request('first', hold));
  await redis.hset(hold.key, 'level', 0.25);
  await ledger.reserve(request('second', hold));
  expect((await ledger.inspect(book, [hold])).levels[0]).toBeCloseTo(1.25, 3);
});

it('a look at a budget leaves out what is reserved in it for nobody, as admission does', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 60_000);
  const hold = { primitive: 'budget', amount: 200, max: 1000, key: `${book}:budget` } as const;
  await ledger.reserve(request('lost', hold));
  expect((await ledger.inspect(book, [hold])).levels).toEqual([200]);
  await redis.del(`${book}:open`, `${book}:records`);
  expect((await ledger.inspect(book, [hold])).levels).toEqual([0]);
});

it('what is reserved in a budget for nobody, because Redis lost the requests, keeps nobody out', async () => {
  const redis = await bed.connect();
  const ledger = new Ledger(redis, 15_000);
  const hold = { primitive: 'budget', amount: 200, max: 1000, key: `${book}:budget` } as const;
  await redis.hset(hold.key, { spent: 100, reserved: 900, period: 0 });
  expect(await ledger.reserve(request('r', hold))).toMatchObject({ levels: [100] });
  expect((await ledger.inspect(book, [hold])).levels).toEqual([300]);
});

it('a claim that fits once everything reserved is given back may come again at any moment', async () => {
  const ledger = new Ledger(await bed.connect(), 15_000);
  const hold = { primitive: 'budget', max: 100, key: `${book}:budget` } as const;
  await ledger.reserve(request('open', { ...hold, amount: 60 }));
  const all = await ledger.reserve(request('all', { ...hold, amount: 100 }));
  expect(all).toMatchObject({ refused: 0, waitMs: 0 });
  await ledger.settle({ requestId: 'open', books: [book], charge: 1 });
  const { refused, waitMs } = await ledger.reserve(request('all', { ...hold, amount: 100 }));
  expect([refused, waitMs]).toEqual([0, undefined]);
});
