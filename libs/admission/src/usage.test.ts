import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { TestBed } from './test-bed.ts';

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

it('what was in flight when its counts were deleted is charged to nobody when it ends', async () => {
  const ingress = await bed.admission();
  const limits = { tenant: { 'token-budget': { max: 1000 } }, key: { 'token-budget': { max: 1000 } } };
  const [ended, died] = [bed.claim({ limits }), bed.claim({ limits })];
  const ticket = await ingress.admit(ended);
  await ingress.admit(died);
  await ingress.forget('acme', ['key_1']);
  await ticket.settle({ usage: { inputTokens: 40, outputTokens: 5 } });
  await ingress.redis.zadd('sluice:{t:acme}:open', 1, died.requestId);
  expect((await ingress.usage(ended)).map(({ used }) => used)).toEqual([0, 0]);
  expect(await ingress.redis.keys('*token-budget*')).toEqual([]);
});
