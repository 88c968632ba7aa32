import { readFileSync } from 'node:fs';
import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';

interface Place {
  outstanding: number;
  slots: number;
  meanMs: number;
  busyForMs: number;
}

const source = `${readFileSync(new URL('./scripts/fair-priority.lua', import.meta.url), 'utf8')}
return string.format('%.17g', fairPriority(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])))`;

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

async function fairPriority({ outstanding, slots, meanMs, busyForMs }: Place): Promise<number> {
  return Number(await redis.eval(source, 0, outstanding, slots, meanMs, busyForMs));
}

const last = 2 ** 21 - 1;
const dayMs = 24 * 3600 * 1000;
const place = fc.record<Place>({
  outstanding: fc.nat({ max: 100_000 }),
  slots: fc.integer({ min: 1, max: 10_000 }),
  meanMs: fc.double({ min: 1, max: 600_000, noNaN: true }),
  busyForMs: fc.integer({ min: 0, max: 4000 * dayMs }),
});

it('a priority is one that the queue takes, and grows with the places and with the time', async () => {
  await fc.assert(
    fc.asyncProperty(place, fc.nat({ max: 1000 }), fc.nat({ max: dayMs }), async (given, more, laterMs) => {
      const priority = await fairPriority(given);
      expect(Number.isInteger(priority * 2 ** 16) && priority >= 1 && priority <= last).toBe(true);
      expect(await fairPriority({ ...given, outstanding: given.outstanding + more })).toBeGreaterThanOrEqual(
        priority,
      );
      expect(await fairPriority({ ...given, busyForMs: given.busyForMs + laterMs })).toBeGreaterThanOrEqual(
        priority,
      );
    }),
  );
});

it.each([
  [1, 60 * 1000],
  [1, 30 * dayMs],
  [10, 51 * dayMs],
  [500, 10 * 365 * dayMs],
])(
  'a turn that comes %d ms later is told apart while a pool is busy for %d ms',
  async (laterMs, busyForMs) => {
    const given = { outstanding: 0, slots: 1, meanMs: 1000, busyForMs };
    expect(await fairPriority({ ...given, busyForMs: busyForMs + laterMs })).toBeGreaterThan(
      await fairPriority(given),
    );
  },
);

/** A pool in slow motion: who waits is served by priority, then by age, as BullMQ does it. */
async function waits({
  slots,
  waiting,
  burst,
  everyMs,
}: Record<'slots' | 'waiting' | 'burst' | 'everyMs', number>) {
  const serviceMs = 120;
  const queue: { priority: number; at: number }[] = [];
  let running: number[] = [];
  const waited: number[] = [];
  for (let at = 0; at < 20_000; at += 1) {
    running = running.filter((endsAt) => endsAt > at);
    for (let index = 0; at % everyMs === 0 && index < burst; index += 1) {
      const outstanding = running.length + queue.length;
      if (outstanding >= slots + waiting) continue;
      const priority = await fairPriority({ outstanding, slots, meanMs: serviceMs, busyForMs: at });
      queue.push({ priority, at });
    }
    queue.sort((a, b) => a.priority - b.priority || a.at - b.at);
    while (running.length < slots && queue.length > 0) {
      waited.push(at - (queue.shift()?.at ?? at));
      // Some take longer than others, so that the places come back in bursts.
      running.push(at + serviceMs * (waited.length % 3 === 0 ? 1.5 : 0.75));
    }
  }
  return waited;
}

it.each([
  [1, 3],
  [30, 100],
  [40, 100],
  [100, 100],
])(
  'in bursts of %d every %d ms into a full pool, nobody waits much longer than the room takes',
  async (burst, everyMs) => {
    const [slots, waiting] = [32, 64];
    expect(Math.max(...(await waits({ slots, waiting, burst, everyMs })))).toBeLessThan(
      1.5 * (waiting / slots) * 120,
    );
  },
);
