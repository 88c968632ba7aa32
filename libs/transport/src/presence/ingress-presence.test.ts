import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RedisClient } from '../redis/connection.ts';
import { announceIngress } from './ingress-presence.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('the sign of life of an ingress stays while it lives, even if Redis misses some, and goes with it', async () => {
  let diesAt = 0;
  let isAway = false;
  const redis = {
    set: async (_key: string, _value: string, _unit: 'PX', lifeMs: number) => {
      if (isAway) throw new Error('away');
      diesAt = Date.now() + lifeMs;
    },
    del: async () => {
      diesAt = 0;
    },
  };
  // Only these members of a connection are used.
  const stop = await announceIngress(redis as unknown as RedisClient, 'mine');
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
