import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { announceIngress, isIngressAlive } from './ingress-presence.ts';

let server: OwnTestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

it('an ingress lives from its announcement to its end', async () => {
  expect(await isIngressAlive(redis, 'mine')).toBe(false);
  const stop = await announceIngress(redis, 'mine');
  expect(await isIngressAlive(redis, 'mine')).toBe(true);
  await stop();
  expect(await isIngressAlive(redis, 'mine')).toBe(false);
  expect(await redis.keys('*')).toEqual([]);
});

it('nobody knows of an ingress without a sign of life while Redis takes no writes', async () => {
  await redis.config('SET', 'min-replicas-to-write', '1');
  await expect(isIngressAlive(redis, 'mine')).rejects.toThrow('NOREPLICAS');
  await redis.config('SET', 'min-replicas-to-write', '0');
  expect(await isIngressAlive(redis, 'mine')).toBe(false);
});
