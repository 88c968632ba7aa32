import { systemClock } from '@sluice/runtime';
import { type Bus, presenceIntervalMs } from '@sluice/transport';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PoolWorker } from './pool-worker.ts';
import { Presence } from './presence.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const newsLimitMs = 500;

it('offers no slots once it takes no further jobs, and is gone with its last word', async () => {
  const told: { type: string; state?: string; pools?: object }[] = [];
  const bus: Bus = {
    publish: async (_channel, text) => told.push(JSON.parse(text)),
    post: () => 0,
    subscribe: async () => undefined,
    onResubscribed: () => undefined,
    isUp: () => true,
    isReached: () => true,
    canPublish: () => true,
  };
  // All that it asks of a pool.
  const pool = { name: 'chat', presence: { slots: 2, resume: 'exact' } } as PoolWorker;
  const presence = new Presence({ bus, signs: bus, worker: 'w', pools: [pool], clock: systemClock });
  await presence.start();
  expect(told.at(-1)).toMatchObject({ state: 'ready', pools: { chat: { slots: 2, resume: 'exact' } } });
  await presence.enter('closing');
  expect(told.at(-1)).toMatchObject({ state: 'ready', pools: {} });
  await presence.enter('draining');
  expect(told.at(-1)).toMatchObject({ state: 'draining', pools: {} });
  await presence.leave();
  await vi.advanceTimersByTimeAsync(10 * presenceIntervalMs);
  expect(told.slice(3)).toMatchObject([{ type: 'exited', worker: 'w' }]);
  expect(told[1]?.pools).toEqual({});
});

/** A bus that publishes this way while it is up, and hears nothing. */
function busOf(publish: Bus['publish'], isUp: () => boolean): Bus {
  return {
    ...{ publish, isUp, isReached: isUp, canPublish: isUp },
    post: () => 0,
    subscribe: async () => undefined,
    onResubscribed: () => undefined,
  };
}

it('is announced twice a second, and not queued for later while Redis is away', async () => {
  const told: string[] = [];
  let isUp = true;
  const bus = busOf(
    async (_channel, text) => told.push(text),
    () => isUp,
  );
  const presence = new Presence({ bus, signs: bus, worker: 'w', pools: [], clock: systemClock });
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

it('tells of many changes at once, and of those that come meanwhile afterwards', async () => {
  const told: (() => void)[] = [];
  const bus = busOf(
    () => new Promise((resolve) => told.push(() => resolve(1))),
    () => true,
  );
  const presence = new Presence({ bus, signs: bus, worker: 'w', pools: [], clock: systemClock });
  const change = () => Promise.all(Array.from({ length: 300 }, () => presence.announceChange()));
  const first = change();
  await vi.advanceTimersByTimeAsync(0);
  const second = change();
  await vi.advanceTimersByTimeAsync(0);
  expect(told).toHaveLength(1);
  told[0]?.();
  await first;
  await vi.advanceTimersByTimeAsync(0);
  expect(told).toHaveLength(2);
  told[1]?.();
  await second;
  expect(told).toHaveLength(2);
});

it('does not hold up the end of its worker when Redis takes the news and never answers', async () => {
  const bus: Bus = {
    publish: () => new Promise(() => undefined),
    post: () => 0,
    subscribe: async () => undefined,
    onResubscribed: () => undefined,
    isUp: () => true,
    isReached: () => true,
    canPublish: () => true,
  };
  const presence = new Presence({ bus, signs: bus, worker: 'w', pools: [], clock: systemClock });
  const left = presence.enter('draining').then(() => presence.leave());
  await vi.advanceTimersByTimeAsync(2 * newsLimitMs);
  await left;
});

it('shows that it lives past the frames, but leaves behind them, and not while none can be sent', async () => {
  const told: string[] = [];
  let canSendFrames = true;
  const busOf = (name: string): Bus => ({
    publish: async (_channel, text) => told.push(`${name}: ${JSON.parse(text).state ?? 'exited'}`),
    post: () => 0,
    subscribe: async () => undefined,
    onResubscribed: () => undefined,
    isUp: () => true,
    isReached: () => true,
    canPublish: () => canSendFrames || name === 'signs',
  });
  const options = { worker: 'w', pools: [], clock: systemClock };
  const presence = new Presence({ bus: busOf('frames'), signs: busOf('signs'), ...options });
  await presence.start();
  canSendFrames = false;
  await vi.advanceTimersByTimeAsync(10 * presenceIntervalMs);
  canSendFrames = true;
  await presence.enter('closing');
  await presence.enter('draining');
  await presence.leave();
  expect(told).toEqual(['signs: ready', 'signs: ready', 'frames: draining', 'frames: exited']);
});

it('is not announced while no sign of life can be sent', async () => {
  const told: string[] = [];
  const busOf = (name: string): Bus => ({
    publish: async () => told.push(name),
    post: () => 0,
    subscribe: async () => undefined,
    onResubscribed: () => undefined,
    isUp: () => true,
    isReached: () => true,
    canPublish: () => name !== 'signs',
  });
  const options = { worker: 'w', pools: [], clock: systemClock };
  await new Presence({ bus: busOf('frames'), signs: busOf('signs'), ...options }).announce();
  expect(told).toEqual([]);
});

it('is told before the next step of a drain, which waits for it only while Redis is there', async () => {
  const [taken, done]: [(() => void)[], string[]] = [[], []];
  let isUp = true;
  const bus = busOf(
    () => new Promise((resolve) => taken.push(() => resolve(1))),
    () => isUp,
  );
  const presence = new Presence({ bus, signs: bus, worker: 'w', pools: [], clock: systemClock });
  void presence.enter('draining').then(() => done.push('draining'));
  await vi.advanceTimersByTimeAsync(newsLimitMs - 1);
  expect(done).toEqual([]);
  taken.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(done).toEqual(['draining']);
  void presence.leave().then(() => done.push('left'));
  await vi.advanceTimersByTimeAsync(newsLimitMs - 1);
  expect(done).toEqual(['draining']);
  taken.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(done).toEqual(['draining', 'left']);

  isUp = false;
  await presence.enter('draining');
  await presence.leave();
  expect(taken).toEqual([]);
});
