import type { RateState } from '@sluice/canonical';
import type { ScopedLimits } from '@sluice/tenancy';
import { startOwnRedis } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Admission } from './admission.ts';
import type { Claim } from './claim.ts';
import { bindLimits } from './policy.ts';
import { rateStates } from './rate-states.ts';
import { TestBed } from './test-bed.ts';

let bed: TestBed;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

/** So long that nothing runs empty while a test runs. */
const periodMs = 30 * 86_400_000;

/** The rates that a claim was told, admitted or not; absent if it was told none. */
async function askedOf(admission: Admission, claim: Claim): Promise<RateState[] | undefined> {
  let told: RateState[] | undefined;
  await admission
    .admit(claim, undefined, (rates) => {
      told = rates;
    })
    .catch(() => undefined);
  return told;
}

it('tells what is left of each rate once the request has taken its own', async () => {
  const limits: ScopedLimits = {
    tenant: { 'token-rate': { max: 1000, periodMs }, concurrency: { max: 5 } },
    key: { 'request-rate': { max: 3, periodMs } },
  };
  const admission = await bed.admission();
  const left = () => askedOf(admission, bed.claim({ limits }));
  expect(await left()).toEqual([
    { counts: 'requests', max: 3, left: 2, fullAt: expect.any(Number) },
    { counts: 'tokens', max: 1000, left: 900, fullAt: expect.any(Number) },
  ]);
  expect((await left())?.map((rate) => rate.left)).toEqual([1, 800]);
  expect((await left())?.map((rate) => rate.left)).toEqual([0, 700]);
  // Refused: it took nothing.
  expect((await left())?.map((rate) => rate.left)).toEqual([0, 700]);
});

it('of the rates of the key and its tenant, the scarcer one is told', async () => {
  const admission = await bed.admission();
  const limits: ScopedLimits = {
    tenant: { 'request-rate': { max: 3, periodMs } },
    key: { 'request-rate': { max: 2, periodMs } },
  };
  const ask = async (keyId: string) => {
    const [rate] = (await askedOf(admission, bed.claim({ limits, keyId }))) ?? [];
    return [rate?.max, rate?.left];
  };
  expect(await ask('key_1')).toEqual([2, 1]);
  expect(await ask('key_2')).toEqual([2, 1]);
  expect(await ask('key_3')).toEqual([3, 0]);
});

it('tells when all will be there again, and never more than there is', async () => {
  const admission = await bed.admission();
  const limits: ScopedLimits = { tenant: { 'request-rate': { max: 10, periodMs: 600_000 } }, key: {} };
  const before = Date.now();
  await askedOf(admission, bed.claim({ limits }));
  const [rate] = (await askedOf(admission, bed.claim({ limits }))) ?? [];
  // A little of the first ran empty meanwhile, which is no whole request.
  expect(rate?.left).toBe(8);
  expect(rate?.fullAt).toBeGreaterThanOrEqual(before + 60_000);
  expect(rate?.fullAt).toBeLessThanOrEqual(Date.now() + 120_000);
});

it('a caller that a full pool refuses is told its rates, and one without rates nothing', async () => {
  const admission = await bed.admission();
  const poolPolicy = { slots: 1, waitBudgetMs: 0, maxWaiting: 0 };
  const limits: ScopedLimits = { tenant: { 'request-rate': { max: 3, periodMs } }, key: {} };
  await admission.admit(bed.claim({ poolPolicy }));
  const [rate] = (await askedOf(admission, bed.claim({ limits, poolPolicy }))) ?? [];
  expect(rate?.left).toBe(3);
  expect(await askedOf(admission, bed.claim({ pool: 'another' }))).toBeUndefined();
});

it('nothing is told of a rate whose level is not known, because the reply of Redis was lost', () => {
  const policies = bindLimits({ tenant: { 'request-rate': { max: 3, periodMs } }, key: {} });
  expect(rateStates(policies, [1], { refused: undefined, levels: [] }, 0)).toEqual([]);
});
