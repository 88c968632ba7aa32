import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Limited, TimeLimits } from './time-limits.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const shortestMs = 20;

function open() {
  const limits = new TimeLimits(shortestMs, () => performance.now());
  const startedAt = performance.now();
  const expired: [name: string, atMs: number][] = [];
  /** Something that ends when its time is up. */
  const watch = (name: string, durationMs: number): Limited => {
    const limited: Limited = {
      dueAt: limits.after(durationMs),
      expire: () => {
        expired.push([name, performance.now() - startedAt]);
        limits.forget(limited);
      },
    };
    limits.watch(limited);
    return limited;
  };
  return { limits, expired, watch };
}

describe('the time of many calls', () => {
  it('is up for each when it is due, however short or long', () => {
    const { expired, watch } = open();
    watch('long', 1000);
    watch('short', 20);
    watch('middle', 333);
    vi.advanceTimersByTime(2000);
    expect(expired).toEqual([
      ['short', 20],
      ['middle', 333],
      ['long', 1000],
    ]);
  });

  it('is up for one that was added while others were handled', () => {
    const { expired, watch } = open();
    watch('first', 1000);
    vi.advanceTimersByTime(7);
    watch('second', 21);
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual([
      ['second', 28],
      ['first', 1000],
    ]);
  });

  it('can be moved later and earlier', () => {
    const { limits, expired, watch } = open();
    const putOff = watch('put off', 50);
    const nearer = watch('nearer', 5000);
    vi.advanceTimersByTime(45);
    putOff.dueAt = limits.after(50);
    nearer.dueAt = limits.after(20);
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual([
      ['nearer', 65],
      ['put off', 95],
    ]);
  });

  it('does not concern those that were forgotten, and needs no timer when all are', () => {
    const { limits, expired, watch } = open();
    limits.forget(watch('a', 50));
    watch('b', 60);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(expired).toEqual([['b', 60]]);
    expect(vi.getTimerCount()).toBe(0);
    watch('c', 30);
    vi.advanceTimersByTime(100);
    expect(expired).toHaveLength(2);
  });

  it('is looked at no more often than the shortest limit asks for', () => {
    const now = vi.fn(() => performance.now());
    const limits = new TimeLimits(shortestMs, now);
    limits.watch({ dueAt: Number.POSITIVE_INFINITY, expire: () => undefined });
    vi.advanceTimersByTime(50 * shortestMs);
    expect(now).toHaveBeenCalledTimes(50);
  });

  it('continues for the others when one stays overdue', () => {
    const { limits, expired, watch } = open();
    let asked = 0;
    const late: Limited = {
      dueAt: limits.after(20),
      expire: () => {
        asked += 1;
        late.dueAt = Number.POSITIVE_INFINITY;
      },
    };
    limits.watch(late);
    watch('other', 90);
    vi.advanceTimersByTime(100);
    expect([asked, expired]).toEqual([1, [['other', 90]]]);
  });
});
