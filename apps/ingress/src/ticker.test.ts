import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTicker, type Ticker, type Ticking } from './ticker.ts';

const stepMs = 50;
const periodMs = 1_000;
let ticker: Ticker;
beforeEach(() => {
  vi.useFakeTimers();
  ticker = createTicker(stepMs, () => performance.now());
});
afterEach(() => {
  ticker.close();
  vi.useRealTimers();
});

/** Something that is due once a period, and notes when it was called. */
function add() {
  const calledAt: number[] = [];
  const ticking = {
    calledAt,
    dueAt: performance.now() + periodMs,
    tick: () => {
      calledAt.push(performance.now());
      ticking.dueAt = performance.now() + periodMs;
    },
  } satisfies Ticking & { calledAt: number[] };
  ticker.add(ticking);
  return ticking;
}

it('every member is called when it is due, a step late at most', () => {
  const addedAt: number[] = [];
  const all = Array.from({ length: 20 }, () => {
    addedAt.push(performance.now());
    const ticking = add();
    vi.advanceTimersByTime(37);
    return ticking;
  });
  vi.advanceTimersByTime(3 * periodMs);
  for (const [index, { calledAt }] of all.entries()) {
    const [first = 0, second = 0] = calledAt;
    expect(first - (addedAt[index] ?? 0)).toBeGreaterThanOrEqual(periodMs);
    expect(first - (addedAt[index] ?? 0)).toBeLessThan(periodMs + stepMs);
    expect(second - first).toBe(periodMs);
  }
  expect(new Set(all.map(({ calledAt: [first] }) => first)).size).toBeGreaterThan(10);
});

it('a member that was removed, or that is there at the close, is not called again', () => {
  const [gone, kept] = [add(), add()];
  vi.advanceTimersByTime(periodMs);
  ticker.delete(gone);
  vi.advanceTimersByTime(periodMs);
  expect([gone.calledAt.length, kept.calledAt.length]).toEqual([1, 2]);
  ticker.close();
  vi.advanceTimersByTime(periodMs);
  expect(kept.calledAt).toHaveLength(2);
});
