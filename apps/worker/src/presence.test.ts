import { systemClock } from '@sluice/runtime';
import { type Bus, presenceIntervalMs } from '@sluice/transport';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Presence } from './presence.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('is told twice a second, and not queued up for later while Redis is away', async () => {
  const told: string[] = [];
  let isUp = true;
  const bus: Bus = {
    publish: async (_channel, text) => told.push(text),
    subscribe: async () => undefined,
    onResubscribed: () => undefined,
    isUp: () => isUp,
    canPublish: () => isUp,
  };
  const presence = new Presence({ bus, worker: 'w', pools: [], clock: systemClock });
  await presence.start();
  await vi.advanceTimersByTimeAsync(2 * presenceIntervalMs);
  expect(told).toHaveLength(3);
  isUp = false;
  await vi.advanceTimersByTimeAsync(100 * presenceIntervalMs);
  await presence.announce();
  expect(told).toHaveLength(3);
  isUp = true;
  await vi.advanceTimersByTimeAsync(presenceIntervalMs);
  expect(told).toHaveLength(4);
  await presence.leave();
});
