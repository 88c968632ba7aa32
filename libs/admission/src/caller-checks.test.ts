import { expect, it } from 'vitest';
import { KnownChecks } from './caller-checks.ts';

const checks = new KnownChecks();
const limits = { tenant: { concurrency: { max: 3 } }, key: { 'request-rate': { max: 9, periodMs: 1000 } } };
const caller = (changes = {}) => checks.ofCaller({ tenant: 'acme', keyId: 'key_1', limits, ...changes });
const keysOf = ({ list }: ReturnType<typeof caller>) => list.holds.map(({ key }) => key);

it('a caller keeps its list of checks, and another one with the same limits has a list of its own', () => {
  expect(caller()).toBe(caller());
  expect(keysOf(caller())).toEqual([
    'sluice:{t:acme}:request-rate:key:key_1',
    'sluice:{t:acme}:concurrency:tenant',
  ]);
  expect(keysOf(caller({ keyId: 'key_2' }))).toEqual([
    'sluice:{t:acme}:request-rate:key:key_2',
    'sluice:{t:acme}:concurrency:tenant',
  ]);
  expect(keysOf(caller({ tenant: 'other' }))).toEqual([
    'sluice:{t:other}:request-rate:key:key_1',
    'sluice:{t:other}:concurrency:tenant',
  ]);
});

it('changed limits come as another object, and count at once', () => {
  const changed = { ...limits, tenant: { concurrency: { max: 4 } } };
  expect(caller({ limits: changed }).list.holds[1]).toMatchObject({ max: 4 });
  expect(caller().list.holds[1]).toMatchObject({ max: 3 });
});

it('a weight other than 1 is part of the check of places of the tenant, and a changed one counts at once', () => {
  const placesOf = (weight: number) =>
    checks.ofPool(caller({ weight }), 'gpu', { slots: 2, waitBudgetMs: 5 }).holds[1];
  const usual = { primitive: 'lease', key: 'sluice:{p:gpu}:leases:of:acme' };
  expect(placesOf(1)).toEqual(usual);
  expect(placesOf(2.5)).toEqual({ ...usual, weight: 2.5 });
  expect(placesOf(4)).toEqual({ ...usual, weight: 4 });
});

it.each([{ slots: 3 }, { waitBudgetMs: 6 }, { maxWaiting: 7 }])(
  'a pool that changes to %j gets a new list',
  (change) => {
    const policy = { slots: 2, waitBudgetMs: 5 };
    const before = checks.ofPool(caller(), 'gpu', policy);
    expect(checks.ofPool(caller(), 'gpu', { ...policy })).toBe(before);
    expect(checks.ofPool(caller(), 'other', policy)).not.toBe(before);
    const [places] = checks.ofPool(caller(), 'gpu', { ...policy, ...change }).holds;
    expect(places).toMatchObject({ key: 'sluice:{p:gpu}:leases:all', backlog: { ...policy, ...change } });
  },
);

it('a record keeps of a check what settling it needs', () => {
  const limits = {
    tenant: { concurrency: { max: 3 }, 'token-budget': { max: 50 } },
    key: { 'token-rate': { max: 9, periodMs: 1000 }, 'token-budget': { max: 5, periodMs: 2000 } },
  };
  expect(JSON.parse(caller({ limits }).list.kept)).toEqual([
    ['rate', 'token-rate:key:key_1', 1000, 9, true],
    ['budget', 'token-budget:key:key_1', 2000],
    ['lease', 'concurrency:tenant'],
    ['budget', 'token-budget:tenant'],
  ]);
});
