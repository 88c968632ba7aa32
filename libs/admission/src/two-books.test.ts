import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from './ledger.ts';
import { meanKey } from './names.ts';
import { partOf, startClusterOfOne } from './test-bed.ts';

const [tenant, pool] = ['sluice:{t:acme}', 'sluice:{p:gpu}'];
const policies = [
  { primitive: 'lease', amount: 1, max: 2, key: `${tenant}:lease` },
  { primitive: 'rate', amount: 1, max: 9, periodMs: 86_400_000_000, settles: false, key: `${tenant}:rate` },
  { primitive: 'budget', amount: 100, max: 1000, key: `${tenant}:budget` },
] as const;
const places = (max: number) => [{ primitive: 'lease', amount: 1, max, key: `${pool}:lease` }] as const;
const request = (requestId: string, { max = 9 } = {}) => ({
  requestId,
  inputTokens: 40,
  parts: [partOf(tenant, policies), partOf(pool, places(max))],
});

describe.each([
  {
    name: 'a single Redis, where one run takes both',
    start: () => startOwnRedis(),
    connect: ({ url }: OwnTestRedis) => new Redis(url),
  },
  {
    name: 'a Cluster, where each has a run of its own',
    start: startClusterOfOne,
    connect: ({ port }: OwnTestRedis) => new Cluster([{ host: '127.0.0.1', port }]),
  },
])('two books of $name', ({ start, connect }) => {
  let server: OwnTestRedis;
  let redis: Redis | Cluster;
  let ledger: Ledger;
  beforeAll(async () => {
    server = await start();
    redis = connect(server);
  });
  beforeEach(async () => {
    await redis.flushall();
    ledger = new Ledger(redis, 15_000);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  const ofTenant = async () => {
    const { requests, levels } = await ledger.inspect(tenant, policies);
    return [requests, ...levels.map((level) => Math.round(level))];
  };
  const ofPool = async () => {
    const { requests, levels } = await ledger.inspect(pool, places(9));
    return [requests, ...levels];
  };

  it('both parts are taken, and every check answers its level', async () => {
    expect(await ledger.reserve(request('first'))).toEqual({ levels: [0, 0, 0, 0], priorities: [] });
    const { levels, refused } = await ledger.reserve(request('second'));
    // The rate is running empty meanwhile.
    expect([refused, ...levels.toSpliced(1, 1)]).toEqual([undefined, 1, 100, 1]);
    expect([await ofTenant(), await ofPool()]).toEqual([
      [2, 2, 2, 200],
      [2, 2],
    ]);
  });

  it('a pool that refuses takes nothing from the tenant', async () => {
    await ledger.reserve(request('first'));
    const answers = await Promise.all(['a', 'b', 'c'].map((id) => ledger.reserve(request(id, { max: 1 }))));
    // In one run a refused request is as if it had not been: in a Cluster its part is held for a moment.
    expect(answers.filter(({ refused }) => refused === 3).length).toBeGreaterThan(0);
    expect(answers.every(({ refused }) => refused !== undefined)).toBe(true);
    expect([await ofTenant(), await ofPool()]).toEqual([
      [1, 1, 1, 100],
      [1, 1],
    ]);
  });

  it('a tenant that is refused takes nothing from the pool, and the pool is not asked', async () => {
    for (const id of ['first', 'second']) await ledger.reserve(request(id));
    const { refused, levels } = await ledger.reserve(request('third', { max: 1 }));
    expect([refused, ...levels.toSpliced(1, 1)]).toEqual([0, 2, 200]);
    expect([await ofTenant(), await ofPool()]).toEqual([
      [2, 2, 2, 200],
      [2, 2],
    ]);
  });

  it('a refusal names the check that refuses, whichever it is', async () => {
    await ledger.reserve(request('first'));
    await ledger.settle({ requestId: 'first', books: [tenant, pool], charge: 950 });
    const { refused, waitMs } = await ledger.reserve(request('second'));
    expect([refused, waitMs]).toEqual([2, undefined]);
  });

  it('one request id takes once, in one turn and in another', async () => {
    await Promise.all([ledger.reserve(request('same')), ledger.reserve(request('same'))]);
    expect((await ledger.reserve(request('same', { max: 1 }))).refused).toBeUndefined();
    expect([await ofTenant(), await ofPool()]).toEqual([
      [1, 1, 1, 100],
      [1, 1],
    ]);
  });

  it('a settlement ends both once, and its service time counts once', async () => {
    await redis.set(meanKey(pool), 1000);
    await ledger.reserve(request('first'));
    const settlement = { requestId: 'first', books: [tenant, pool], charge: 70, durationMs: 2000 };
    expect(await Promise.all([ledger.settle(settlement), ledger.settle(settlement)])).toEqual([true, false]);
    expect(await ledger.settle(settlement)).toBe(false);
    expect([await ofTenant(), await ofPool()]).toEqual([
      [0, 0, 1, 70],
      [0, 0],
    ]);
    expect(Number(await redis.get(meanKey(pool)))).toBeCloseTo(1100);
    expect(await redis.exists(meanKey(tenant))).toBe(0);
  });
});
