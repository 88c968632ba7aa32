import { createKeyStore } from '@sluice/tenancy';
import { type OwnTestRedis, until } from '@sluice/testing';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAdmission } from './admission.ts';
import { MemoryGate } from './memory-gate.ts';
import { startClusterOfOne, TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
let cluster: Cluster;

beforeAll(async () => {
  bed = new TestBed(await startClusterOfOne());
  cluster = new Cluster([{ host: '127.0.0.1', port: bed.server.port }]);
});
afterAll(async () => {
  cluster.disconnect();
  await bed.close();
});

it('keys, limits and the memory gate work on a Redis Cluster', async () => {
  const subscriber = new Redis(bed.server.port);
  const store = createKeyStore({
    redis: cluster,
    subscriber,
    secret: 'a secret of the tests',
  });
  await store.start();
  await store.directory.upsertTenant('acme');
  await store.directory.changeTenantLimits('acme', {
    concurrency: { max: 1 },
    'token-budget': { max: 1000 },
  });
  const { credential, key } = await store.directory.mint({ tenant: 'acme' });
  const caller = await store.authenticate([credential]);
  const memoryGate = new MemoryGate({ redis: cluster });
  await memoryGate.start();
  const admission = createAdmission({ redis: cluster, memoryGate });
  await admission.start();
  const claim = bed.claim({ tenant: caller.tenant, keyId: caller.keyId, limits: caller.limits });
  const ticket = await admission.admit(claim);
  await expect(admission.admit(bed.claim({ limits: caller.limits }))).rejects.toThrow('concurrency');
  await ticket.settle({ usage: { inputTokens: 1, outputTokens: 1 }, durationMs: 5 });
  expect((await admission.usage(claim)).map(({ used }) => used)).toEqual([0, 2]);
  await admission.forget('acme', [key.id]);
  expect((await admission.usage(claim)).map(({ used }) => used)).toEqual([0, 0]);
  await store.directory.revoke(key.id);
  await until(() =>
    store.authenticate([credential]).then(
      () => false,
      () => true,
    ),
  );
  await store.directory.deleteTenant('acme');
  await Promise.all([admission.close(), memoryGate.close(), store.close()]);
  subscriber.disconnect();
});

it('admission stops while a master of a Redis Cluster is nearly full', async () => {
  const node = new Redis(bed.server.port);
  const used = Number(/^used_memory:(\d+)/m.exec(await node.info('memory'))?.[1]);
  await node.config('SET', 'maxmemory', Math.floor(used * 1.2));
  const memoryGate = new MemoryGate({ redis: cluster });
  await memoryGate.start();
  expect(() => memoryGate.check()).toThrow('the queue is short of memory');
  await memoryGate.close();
  await node.config('SET', 'maxmemory', 0);
  node.disconnect();
});

it('tenants share a full pool of a Redis Cluster', async () => {
  const admission = createAdmission({ redis: cluster });
  await admission.start();
  const enter = (tenant: string) =>
    admission.admit(bed.claim({ tenant, pool: 'shared', poolPolicy: { slots: 2, waitBudgetMs: 60_000 } }));
  const ofMany = [];
  for (let request = 0; request < 6; request += 1) ofMany.push(await enter('many'));
  const ofFew = await enter('few');
  expect(ofFew.priorityOf(0)).toBeLessThan(ofMany[2]?.priorityOf(0) ?? 0);
  const usage = { inputTokens: 1, outputTokens: 1 };
  for (const ticket of [...ofMany, ofFew]) await ticket.settle({ usage, durationMs: 5 });
  expect(await cluster.exists('sluice:{p:shared}:leases:of:few:mean')).toBe(1);
  expect((await admission.inspect()).books).toMatchObject({
    'sluice:{p:shared}': { requests: 0, reservedTokens: 0 },
  });
  await admission.close();
});
