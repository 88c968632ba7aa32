import { setImmediate } from 'node:timers/promises';
import { FakeClock } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { drainGenerations } from './drain.ts';
import type { PoolWorker } from './pool-worker.ts';
import type { Presence } from './presence.ts';

it('a drain announces itself in an order in which no ingress waits in vain or loses what is kept for it', async () => {
  const told: string[] = [];
  /** Called when it is done, which takes this many turns. */
  const note = (what: string, turns: number) => async () => {
    for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    told.push(what);
  };
  const clock = new FakeClock();
  const running = Promise.withResolvers<void>();
  const delivered = Promise.withResolvers<void>();
  const pool = (name: string, drained: Promise<void>) => ({
    drain: async () => {
      told.push(`${name} drains`);
      await drained;
    },
    stop: (reason: string) => note(`${name} ends as ${reason}`, 4)(),
  });
  const limit = new AbortController();
  const drained = drainGenerations(
    {
      // All that a drain asks of them.
      pools: [pool('a', Promise.resolve()), pool('b', running.promise)] as unknown as PoolWorker[],
      publisher: {
        flush: note('flush', 3),
        delivered: async (its) => {
          expect(its).toBe(limit.signal);
          await note('wait for readers', 2)();
          await delivered.promise;
        },
      },
      presence: {
        enter: (state: string) => note(state, 1)(),
        leave: note('leave', 1),
      } as unknown as Presence,
      clock,
    },
    limit.signal,
  );
  const takesNoMore = ['closing', 'a drains', 'b drains'];
  await expect.poll(() => told).toEqual(takesNoMore);
  await clock.advance(60_000);
  expect(told).toEqual(takesNoMore);
  running.resolve();
  // Its last frames are out, and have arrived, before the news by which ingresses take its jobs away.
  const waits = ['flush', 'wait for readers'];
  await expect.poll(() => told.slice(3)).toEqual(waits);
  await clock.advance(60_000);
  expect(told.slice(3)).toEqual(waits);
  delivered.resolve();
  // The news has time to arrive.
  await expect.poll(() => told.slice(5)).toEqual(['draining']);
  await clock.advance(249);
  expect(told.slice(5)).toEqual(['draining']);
  await clock.advance(1);
  await drained;
  expect(told.slice(6)).toEqual(['a ends as drained', 'b ends as drained', 'flush', 'leave']);
});
