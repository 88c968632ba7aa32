import { ask, type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ingressKey } from '../names.ts';
import { connected, openRedis, type RedisClient } from '../redis/connection.ts';
import { announceIngress, isIngressAlive } from './ingress-presence.ts';

/** A connection that takes commands. */
async function open(url: string): Promise<RedisClient> {
  const client = openRedis(url, { profile: 'command', name: 'process', onError: () => undefined });
  await connected(client, AbortSignal.timeout(10_000));
  return client;
}

let server: OwnTestRedis;
let redis: RedisClient;
beforeAll(async () => {
  server = await startOwnRedis();
  redis = await open(server.url);
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

it('the sign of life of an ingress stays while it lives, even if Redis misses some, and goes with it', async () => {
  vi.useFakeTimers();
  let diesAt = 0;
  let isAway = false;
  const fake = {
    pexpire: async (_key: string, lifeMs: number) => {
      if (isAway) throw new Error('away');
      if (diesAt <= Date.now()) return 0;
      diesAt = Date.now() + lifeMs;
      return 1;
    },
    set: async (_key: string, _value: string, _unit: 'PX', lifeMs: number) => {
      diesAt = Date.now() + lifeMs;
    },
    del: async () => {
      diesAt = 0;
    },
    on: () => undefined,
    off: () => undefined,
  };
  // Only these members of a connection are used.
  const stop = await announceIngress(fake as unknown as RedisClient, 'mine');
  const live = async (durationMs: number): Promise<void> => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += 100) {
      await vi.advanceTimersByTimeAsync(100);
      expect(diesAt).toBeGreaterThan(Date.now());
    }
  };
  await live(60_000);
  isAway = true;
  await live(5_000);
  isAway = false;
  await live(60_000);
  await stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(diesAt).toBe(0);
});

it('an ingress lives from its announcement to its end', async () => {
  expect(await isIngressAlive(redis, 'mine')).toBe(false);
  const stop = await announceIngress(redis, 'mine');
  expect(await isIngressAlive(redis, 'mine')).toBe(true);
  await stop();
  expect(await isIngressAlive(redis, 'mine')).toBe(false);
  expect(await ask(server.port, 'KEYS', '*')).toBe('[]');
});

it('an ingress whose sign of life is gone shows a new one as soon as it reaches Redis again', async () => {
  // The connection keeps its own timers.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const stop = await announceIngress(redis, 'mine');
  await ask(server.port, 'DEL', ingressKey('mine'));
  await ask(server.port, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until(async () => (await ask(server.port, 'EXISTS', ingressKey('mine'))) === '1');
  await until(() => redis.status === 'ready');
  await stop();
  expect(await ask(server.port, 'KEYS', '*')).toBe('[]');
});

it('nobody knows of an ingress without a sign of life while Redis takes no writes', async () => {
  await ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
  await expect(isIngressAlive(redis, 'mine')).rejects.toThrow('NOREPLICAS');
  await ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
  expect(await isIngressAlive(redis, 'mine')).toBe(false);
});

describe('in a Redis that is full, the sign of life of an ingress', () => {
  const key = ingressKey('mine');
  beforeEach(async () => {
    await allow(0);
    // The connection keeps its own timers.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterAll(() => allow(0));
  const allow = (bytes: number) => ask(server.port, 'CONFIG', 'SET', 'maxmemory', String(bytes));
  const renewed = () => vi.advanceTimersByTimeAsync(2_500);

  it('is made as soon as there is room for it', async () => {
    await allow(1);
    const stop = await announceIngress(redis, 'mine');
    await renewed();
    expect(await isIngressAlive(redis, 'mine')).toBe(false);
    await allow(0);
    await renewed();
    await until(() => isIngressAlive(redis, 'mine'));
    await stop();
  });

  it('stays if it was there before', async () => {
    const stop = await announceIngress(redis, 'mine');
    await allow(1);
    await redis.pexpire(key, 5_000);
    await renewed();
    await until(async () => (await redis.pttl(key)) > 5_000);
    await stop();
    expect(await isIngressAlive(redis, 'mine')).toBe(false);
  });
});

it('an ingress that Redis refuses for another reason does not start', async () => {
  await using server = await startOwnRedis();
  const redis = await open(server.url);
  await ask(server.port, 'ACL', 'SETUSER', 'default', '-set');
  await expect(announceIngress(redis, 'mine')).rejects.toThrow('NOPERM');
  redis.disconnect();
});
