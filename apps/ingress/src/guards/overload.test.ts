import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { Shedder, watchOverload } from './overload.ts';

const limitMs = 100;
const refusedOf = (shedder: Shedder, requests: number): number =>
  Array.from({ length: requests }, () => shedder.refusesNext()).filter(Boolean).length;

it('an event loop below the limit refuses nobody', () => {
  const shedder = new Shedder(limitMs);
  for (let looks = 0; looks < 100; looks += 1) {
    shedder.look(limitMs - 1);
    expect(refusedOf(shedder, 10)).toBe(0);
  }
});

it('a single long pause refuses nobody, however long it was', () => {
  const shedder = new Shedder(limitMs);
  shedder.look(60_000);
  expect(refusedOf(shedder, 100)).toBe(0);
  shedder.look(0);
  expect(refusedOf(shedder, 100)).toBe(0);
});

it('a delay that stays refuses more and more, but never all, and is over soon after it has gone', () => {
  const shedder = new Shedder(limitMs);
  const shares: number[] = [];
  for (let looks = 0; looks < 20; looks += 1) {
    shedder.look(3 * limitMs);
    shares.push(refusedOf(shedder, 100));
  }
  expect(shares[0]).toBe(0);
  expect(Math.abs((shares[3] ?? 0) - 30)).toBeLessThanOrEqual(1);
  expect(shares.at(-1)).toBe(95);
  for (let looks = 0; looks < 11; looks += 1) shedder.look(0);
  expect(refusedOf(shedder, 100)).toBe(0);
});

it('an overload that is over does not add to the next one', () => {
  const untilRefused = (shedder: Shedder): number => {
    for (let requests = 1; ; requests += 1) if (shedder.refusesNext()) return requests;
  };
  const [fresh, used] = [new Shedder(limitMs), new Shedder(limitMs)];
  const overload = (shedder: Shedder): void => {
    for (let looks = 0; looks < 2; looks += 1) shedder.look(2 * limitMs);
  };
  overload(fresh);
  overload(used);
  expect(refusedOf(used, 9)).toBe(0);
  for (let looks = 0; looks < 9; looks += 1) used.look(0);
  overload(used);
  expect(untilRefused(used)).toBe(untilRefused(fresh));
});

it('a small share is refused however few requests come between two looks', () => {
  const shedder = new Shedder(limitMs);
  for (let looks = 0; looks < 2; looks += 1) shedder.look(2 * limitMs);
  let refused = 0;
  for (let looks = 0; looks < 40; looks += 1) {
    shedder.look(limitMs);
    refused += refusedOf(shedder, 5);
  }
  expect(Math.abs(refused - 200 * shedder.share)).toBeLessThan(1.01);
  expect(shedder.share).toBeCloseTo(0.1);
});

it('a limit of 0 switches it off', () => {
  const shedder = new Shedder(0);
  for (let looks = 0; looks < 100; looks += 1) shedder.look(1_000_000);
  expect(refusedOf(shedder, 100)).toBe(0);
});

it('the refused are spread as evenly as their share allows', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 40 }), (delays) => {
      const shedder = new Shedder(limitMs);
      for (const delay of delays) shedder.look(delay);
      const { share } = shedder;
      expect(Math.abs(refusedOf(shedder, 1000) - 1000 * share)).toBeLessThan(1.01);
    }),
  );
});

it('a process whose turns stay long refuses, and says when to come back', async () => {
  const overload = watchOverload(10, () => performance.now());
  let refusal: unknown;
  while (refusal === undefined) {
    const end = performance.now() + 40;
    while (performance.now() < end);
    // Lets timers and their continuations run.
    await new Promise(setImmediate);
    try {
      overload.check();
    } catch (error) {
      refusal = error;
    }
  }
  overload.close();
  expect(refusal).toMatchObject({
    kind: 'saturated',
    options: { refusedBy: 'overload', retryAfterMs: 1_000 },
  });
});

it.each([
  { what: 'short turns', turns: [10], limit: 1, isRefusing: false },
  {
    what: 'one long turn among short ones',
    turns: [400, ...Array(100).fill(10)],
    limit: 50,
    isRefusing: false,
  },
  // Two of three instants fall into the long turns, though only one of six turns is long.
  { what: 'long turns among short ones', turns: [100, 10, 10, 10, 10, 10], limit: 50, isRefusing: true },
])('$what: what a request meets is what counts', ({ turns, limit, isRefusing }) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  let now = 0;
  const overload = watchOverload(limit, () => now);
  let refused = 0;
  for (let turn = 0; turn < 600; turn += 1) {
    now += turns[turn % turns.length] ?? 0;
    vi.advanceTimersByTime(10);
    try {
      overload.check();
    } catch {
      refused += 1;
    }
  }
  overload.close();
  vi.useRealTimers();
  expect(refused > 0).toBe(isRefusing);
});

/** A process with a limited capacity of work per second: the work that waits makes the delay. */
function run({ offered, workMs, refusalMs }: { offered: number; workMs: number; refusalMs: number }) {
  const shedder = new Shedder(limitMs);
  let backlogMs = 0;
  const good: number[] = [];
  const delays: number[] = [];
  for (let look = 0; look < 600; look += 1) {
    let admitted = 0;
    for (let request = 0; request < offered / 10; request += 1) {
      const isRefused = shedder.refusesNext();
      backlogMs += isRefused ? refusalMs : workMs;
      if (!isRefused) admitted += 1;
    }
    backlogMs = Math.max(0, backlogMs - 100);
    shedder.look(backlogMs);
    good.push(admitted * 10);
    delays.push(backlogMs);
  }
  const settled = (values: number[]) => values.slice(100);
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    goodput: mean(settled(good)),
    delayMs: mean(settled(delays)),
    worstMs: Math.max(...settled(delays)),
  };
}

it.each([1.5, 3])(
  'at %d times of what a process can do, it does what it can, at the delay allowed',
  (factor) => {
    const [workMs, refusalMs] = [1, 0.05];
    const { goodput, delayMs, worstMs } = run({ offered: 1000 * factor, workMs, refusalMs });
    // What is left after the refusals have been paid for.
    const possible = (1000 - 1000 * factor * refusalMs) / (workMs - refusalMs);
    expect(goodput / possible).toBeGreaterThan(0.9);
    expect(delayMs).toBeLessThan(1.5 * limitMs);
    expect(worstMs).toBeLessThan(5 * limitMs);
  },
);
