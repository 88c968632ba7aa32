import { ask, type ClusterTopology, type OwnTestRedis, startCluster, until } from '@sluice/testing';
import { connected, openRedis, type RedisClient } from '@sluice/transport';
import { afterAll, afterEach, beforeAll, beforeEach, it, vi } from 'vitest';
import { type Admission, createAdmission } from './admission.ts';
import { bookKeys, booksInUse, poolBook } from './names.ts';
import { TestBed } from './test-bed.ts';

// Servers die and come back here, on machines that may be busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let cluster: ClusterTopology;
let redis: RedisClient;
let admission: Admission;
let bed: TestBed;
let lost: OwnTestRedis | undefined;

beforeAll(async () => {
  cluster = await startCluster();
  bed = new TestBed(cluster);
});
beforeEach(async () => {
  // Set as our documentation advises; a restarted server has forgotten it.
  for (const { port } of cluster.nodes) {
    await ask(port, 'CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    await ask(port, 'FLUSHALL');
  }
  redis = openRedis(cluster.url, { profile: 'command', name: 'test', onError: () => undefined });
  await connected(redis, AbortSignal.timeout(30_000));
  admission = createAdmission({ redis, renewEveryMs: 50 });
  await admission.start();
});
afterEach(async () => {
  await admission.close();
  redis.disconnect();
  await lost?.up();
  lost = undefined;
  await cluster.settled();
});
afterAll(() => cluster.stop());

const first = () => cluster.nodes[0]?.port ?? 0;

async function shardOf(key: string): Promise<number> {
  const slot = Number(await ask(first(), 'CLUSTER', 'KEYSLOT', key));
  return [5_460, 10_922, 16_383].findIndex((last) => slot <= last);
}

async function lose(shard: number): Promise<void> {
  lost = await cluster.masterOf(shard);
  await lost.down();
}

async function poolOn(shard: number): Promise<string> {
  for (let number = 0; ; number += 1) {
    const pool = `pool${number}`;
    if ((await shardOf(poolBook(pool))) === shard) return pool;
  }
}

/** When the lease of a request in a pool ends by the master that has it, and that it ends later and later. */
async function watchLease(pool: string, requestId: string) {
  const { port } = await cluster.masterOf(await shardOf(poolBook(pool)));
  const [open] = bookKeys(poolBook(pool));
  const endsAt = async () => Number(JSON.parse(await ask(port, 'ZSCORE', open, requestId)));
  return {
    isRenewed: async (): Promise<void> => {
      const before = await endsAt();
      // Longer than any round that was under way.
      await until(async () => (await endsAt()) > before + 1_000, { timeoutMs: 30_000, what: 'a renewal' });
    },
  };
}

it('leases of a pool are renewed while the master of another one is away', async () => {
  const promises = await shardOf(booksInUse);
  const [away = 0, healthy = 0] = [0, 1, 2].filter((shard) => shard !== promises);
  const pools = { away: await poolOn(away), healthy: await poolOn(healthy) };
  const ended = await admission.admit(bed.claim({ pool: pools.away }));
  await admission.admit(bed.claim({ pool: pools.away }));
  const { requestId } = await admission.admit(bed.claim({ pool: pools.healthy }));
  const lease = await watchLease(pools.healthy, requestId);
  await lease.isRenewed();
  await lose(away);
  await ended.settle({ usage: { inputTokens: 1, outputTokens: 1 } });
  await lease.isRenewed();
});

it('leases are renewed while nobody can be told which books are in use', async () => {
  const promises = await shardOf(booksInUse);
  const pool = await poolOn((promises + 1) % 3);
  const { requestId } = await admission.admit(bed.claim({ pool }));
  const lease = await watchLease(pool, requestId);
  await lease.isRenewed();
  await lose(promises);
  await lease.isRenewed();
});

it('what a dead ingress left is looked after while the master of something else that it left is away', async () => {
  const promises = await shardOf(booksInUse);
  const [away = 0, healthy = 0] = [0, 1, 2].filter((shard) => shard !== promises);
  const dying = createAdmission({ redis, leaseMs: 100 });
  const pools = [await poolOn(away), await poolOn(healthy)];
  for (const pool of pools) await dying.admit(bed.claim({ pool }));
  await lose(away);
  const { port } = await cluster.masterOf(healthy);
  const [open] = bookKeys(poolBook(pools[1] ?? ''));
  await until(async () => (await ask(port, 'ZCARD', open)) === '0', {
    timeoutMs: 30_000,
    what: 'the place to be free',
  });
});
