import { FakeClock } from '@sluice/runtime';
import { ask, type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { MemoryGate, memoryFill } from './memory-gate.ts';
import { TestBed } from './test-bed.ts';

let bed: TestBed<OwnTestRedis>;
beforeAll(async () => {
  bed = new TestBed(await startOwnRedis());
});
afterEach(async () => {
  await bed.reset();
  // The next test begins with a Redis that is not full.
  await ask(bed.server.port, 'CONFIG', 'SET', 'maxmemory', '0');
});
afterAll(() => bed.close());

it('admission stops while Redis is nearly full and goes on afterwards', async () => {
  const clock = new FakeClock();
  const redis = await bed.connect();
  const memoryGate = new MemoryGate({ redis, clock });
  const ingress = await bed.admission({ memoryGate });
  await memoryGate.start();
  await ingress.admit(bed.claim());

  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', Math.floor(used * 1.2));
  await clock.advance(1000);
  await until(() => memoryGate.fill > 0.7);
  await expect(ingress.admit(bed.claim())).rejects.toMatchObject({
    kind: 'unavailable',
    options: { refusedBy: 'memory' },
  });

  await redis.config('SET', 'maxmemory', 0);
  await clock.advance(1000);
  await until(() => memoryGate.fill === 0);
  await ingress.admit(bed.claim());
  await memoryGate.close();
  expect(clock.timers).toBe(0);
});

it('a Redis that begins to evict is reported once, and once more when it keeps everything again', async () => {
  const clock = new FakeClock();
  const redis = await bed.connect();
  const told: (string | undefined)[] = [];
  const memoryGate = new MemoryGate({ redis, clock, onEviction: (policy) => told.push(policy) });
  await memoryGate.start();
  for (const policy of ['noeviction', 'allkeys-lru', 'allkeys-lru', 'noeviction', 'noeviction']) {
    await redis.config('SET', 'maxmemory-policy', policy);
    await clock.advance(1000);
    // One look at a time: the gate's answer came before this one.
    await redis.info('memory');
  }
  await memoryGate.close();
  expect(told).toEqual(['allkeys-lru', undefined]);
});

it('a Redis that fills up is reported once, and once more when a tenth of that is free again', async () => {
  const clock = new FakeClock();
  const redis = await bed.connect();
  const told: (boolean | undefined)[] = [];
  const memoryGate = new MemoryGate({
    redis,
    clock,
    onFull: (fill) => told.push(fill === undefined ? undefined : fill > 0.7 && fill <= 1),
  });
  await memoryGate.start();
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  for (const fill of [0.5, 0.8, 0.8, 0.67, 0.8, 0.55, 0.67, 0.8]) {
    await redis.config('SET', 'maxmemory', Math.floor(used / fill));
    await clock.advance(1000);
    // One look at a time: the gate's answer came before this one.
    await redis.info('memory');
  }
  await memoryGate.close();
  expect(told).toEqual([true, undefined, true]);
});

it('a Redis that refuses to tell of its memory is reported once, and once more when it tells again', async () => {
  const clock = new FakeClock();
  const redis = await bed.connect();
  const told: (string | undefined)[] = [];
  const memoryGate = new MemoryGate({ redis, clock, onRefusal: (refusal) => told.push(refusal?.message) });
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', Math.floor(used * 1.2));
  await memoryGate.start();
  for (const rule of ['-info', '-info', '+info', '+info']) {
    await redis.call('ACL', 'SETUSER', 'default', rule);
    await clock.advance(1000);
    // One look at a time: the gate's answer came before this one.
    await redis.ping();
    // What was told last stands.
    expect(memoryGate.fill).toBeGreaterThan(0.7);
  }
  // Neither answered nor refused.
  redis.disconnect();
  await clock.advance(1000);
  await memoryGate.close();
  expect(told).toEqual([expect.stringContaining('NOPERM'), undefined]);
});

it('a Redis without a limit is never full, and what Redis does not count is not counted', () => {
  expect(memoryFill('used_memory:900\r\nmaxmemory:0\r\n')).toBe(0);
  expect(memoryFill('used_memory:900\r\nmaxmemory:1000\r\nmem_not_counted_for_evict:400\r\n')).toBe(0.5);
});
