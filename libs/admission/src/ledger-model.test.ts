import { assertNever } from '@sluice/canonical';
import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Ledger } from './ledger.ts';
import { bookKeys } from './names.ts';
import { type Asked, partOf, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
let redis: Redis;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
  redis = await bed.connect();
});
afterAll(() => bed.close());

const tenant = 'sluice:{t:acme}';
const pool = 'sluice:{p:gpu}';
const books = [tenant, pool];
/** So long that nothing runs empty, and no period ends, while the test looks. */
const periodMs = 864_000_000_000;
const max = { concurrency: 6, rate: 400, budget: 700, places: 9 };

interface Wish {
  jobs: number;
  input: number;
  tokens: number;
}

const ofTenant = ({ jobs, tokens }: Wish): Asked[] => [
  { primitive: 'lease', max: max.concurrency, key: `${tenant}:concurrency`, amount: jobs },
  { primitive: 'rate', max: max.rate, periodMs, settles: true, key: `${tenant}:rate`, amount: tokens },
  { primitive: 'budget', max: max.budget, periodMs, key: `${tenant}:budget`, amount: tokens },
];
const ofPool = ({ jobs }: Wish): Asked[] => [
  { primitive: 'lease', max: max.places, key: `${pool}:leases`, amount: jobs },
];

/** The same rules without Redis: what is held follows from who holds it. */
class Model {
  readonly open = new Map<string, Wish & { seen: number }>();
  /** Requests that were given up before they took anything, or settled while a renewal of them was on its way. */
  readonly givenUp = new Set<string>();
  private rate = 0;
  private spent = 0;

  /** As the checks of a request see them, in their order. */
  get levels(): number[] {
    const held = [...this.open.values()];
    const jobs = held.reduce((sum, each) => sum + each.jobs, 0);
    const reserved = held.reduce((sum, each) => sum + each.tokens, 0);
    return [jobs, this.rate, this.spent + reserved, jobs];
  }

  /** Index of the check that says no for longest, the pool's only where no other does; absent where all is taken. */
  reserve(id: string, wish: Wish): number | undefined {
    if (this.open.has(id) || this.givenUp.has(id)) return undefined;
    const amounts = [wish.jobs, wish.tokens, wish.tokens, wish.jobs];
    const most = Object.values(max);
    const levels = this.levels;
    const over = amounts.map((amount, index) => (levels[index] ?? 0) + amount - (most[index] ?? 0));
    const refused = over.flatMap((tooMuch, index) => (tooMuch > 0 ? [index] : []));
    const waits = [0, ((over[1] ?? 0) * periodMs) / max.rate, this.budgetWaitMs(wish), -1];
    if (refused.length > 0)
      return refused.reduce((one, other) => ((waits[other] ?? 0) > (waits[one] ?? 0) ? other : one));
    this.open.set(id, { ...wish, seen: 0 });
    this.rate += wish.tokens;
    return undefined;
  }

  private budgetWaitMs({ tokens }: Wish): number {
    return this.spent + tokens <= max.budget ? 0 : periodMs - (Date.now() % periodMs);
  }

  settle(id: string, charge: number | undefined, mayBeRenewed = false): boolean {
    const held = this.open.get(id);
    if (mayBeRenewed || (!held && charge === undefined)) this.givenUp.add(id);
    if (!held) return false;
    this.open.delete(id);
    this.rate = Math.max(0, this.rate + (charge ?? 0) - held.tokens);
    this.spent += charge ?? 0;
    return true;
  }
}

const id = fc.integer({ min: 0, max: 5 }).map((number) => `r${number}`);
const tokens = fc.integer({ min: 0, max: 200 });
const wish = fc.record({ id, jobs: fc.integer({ min: 1, max: 3 }), input: tokens, tokens });
const settlement = fc.record({
  id,
  charge: fc.option(tokens, { nil: undefined }),
  mayBeRenewed: fc.boolean(),
});
/** Most renewals tell of no output, because there was none since the one before. */
const seen = fc.option(tokens, { nil: undefined });
const some = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 5 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('reserve'), wishes: some(wish) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('settle'), settlements: some(settlement) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('renew'), wish, seen }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('die'), id }) },
);

it('the books agree with a simple model, whatever is reserved in one turn, settled, renewed or left behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      await redis.flushall();
      const model = new Model();
      const ingresses = [new Ledger(redis, 3_600_000), new Ledger(redis, 3_600_000)] as const;
      for (const [index, each] of steps.entries()) {
        const ledger = ingresses[index % 2 === 0 ? 0 : 1];
        switch (each.type) {
          case 'reserve': {
            const expected = each.wishes.map((one) => model.reserve(one.id, one));
            const answers = await Promise.all(
              each.wishes.map((one) =>
                ledger.reserve({
                  ...{ requestId: one.id, inputTokens: one.input },
                  parts: [partOf(tenant, ofTenant(one)), partOf(pool, ofPool(one))],
                }),
              ),
            );
            expect(answers.map(({ refused }) => refused)).toEqual(expected);
            break;
          }
          case 'settle': {
            const expected = each.settlements.map((one) =>
              model.settle(one.id, one.charge, one.mayBeRenewed),
            );
            const settled = each.settlements.map(({ id: requestId, charge, mayBeRenewed }) =>
              ledger.settle({ requestId, books, mayBeRenewed, ...(charge !== undefined && { charge }) }),
            );
            expect(await Promise.all(settled)).toEqual(expected);
            break;
          }
          case 'renew': {
            const { id: requestId } = each.wish;
            const held = model.open.get(requestId);
            if (!held && !model.givenUp.has(requestId)) break;
            if (held) held.seen = Math.max(held.seen, each.seen ?? 0);
            const its = held ?? each.wish;
            for (const part of [partOf(tenant, ofTenant(its)), partOf(pool, ofPool(its))]) {
              await ledger.renew(part.list.book, () => [{ requestId, part, seen: each.seen }]);
            }
            break;
          }
          case 'die': {
            const held = model.open.get(each.id);
            if (!held) break;
            // As if the lease had expired because nobody renewed it.
            for (const book of books) await redis.zadd(bookKeys(book)[0], 1, each.id);
            model.settle(each.id, held.input + held.seen);
            break;
          }
          default:
            assertNever(each);
        }
        const nothing = { jobs: 0, input: 0, tokens: 0 };
        const [one, other] = [
          await ledger.inspect(tenant, ofTenant(nothing)),
          await ledger.inspect(pool, ofPool(nothing)),
        ];
        expect([...one.levels, ...other.levels].map(Math.round)).toEqual(model.levels);
        expect([one.requests, other.requests]).toEqual([model.open.size, model.open.size]);
      }
    }),
    { numRuns: 60 },
  );
});
