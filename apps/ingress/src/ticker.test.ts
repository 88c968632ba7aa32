import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTicker, type Ticker } from './ticker.ts';

const periodMs = 1_000;
let ticker: Ticker;
beforeEach(() => {
  vi.useFakeTimers();
  ticker = createTicker(periodMs);
});
afterEach(() => {
  ticker.close();
  vi.useRealTimers();
});

/** Something that notes when it was called. */
function add() {
  const calledAt: number[] = [];
  const ticking = { calledAt, tick: () => void calledAt.push(Date.now()) };
  ticker.add(ticking);
  return ticking;
}

it('every member is called once a period, at a time that depends on when it joined', () => {
  const all = Array.from({ length: 20 }, () => {
    const ticking = add();
    vi.advanceTimersByTime(periodMs / 20);
    return ticking;
  });
  vi.advanceTimersByTime(10 * periodMs);
  for (const { calledAt } of all) {
    expect(calledAt.length).toBeGreaterThanOrEqual(10);
    const pauses = calledAt.slice(1).map((at, index) => at - (calledAt[index] ?? 0));
    expect(new Set(pauses)).toEqual(new Set([periodMs]));
  }
  expect(new Set(all.map(({ calledAt: [first = 0] }) => first % periodMs)).size).toBe(20);
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
