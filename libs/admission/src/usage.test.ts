import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { TestBed } from './test-bed.ts';

// Redis servers start here, on machines that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(() => bed.reset());
afterAll(() => bed.close());

it('what a tenant has used is forgotten on demand, also by its keys, and nothing of others', async () => {
  const ingress = await bed.admission();
  const limits = { tenant: { 'token-budget': { max: 1000 } }, key: { 'token-budget': { max: 1000 } } };
  const used = async (tenant: string) =>
    (await ingress.usage({ tenant, keyId: 'key_1', limits })).map((each) => each.used);
  for (const tenant of ['acme', 'other'])
    await (await ingress.admit(bed.claim({ tenant, limits }))).settle({});
  await ingress.forget('acme', ['key_1']);
  expect([await used('acme'), await used('other')]).toEqual([
    [0, 0],
    [40, 40],
  ]);
});
