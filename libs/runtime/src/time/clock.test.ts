import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { longestTimerMs, steadyNow, systemClock } from './clock.ts';
import { FakeClock } from './fake-clock.ts';

describe('FakeClock', () => {
  it('runs what falls due in order of time, with the time it was due', async () => {
    const clock = new FakeClock(1_000);
    const seen: [string, number][] = [];
    clock.after(20, () => seen.push(['late', clock.now()]));
    clock.after(10, () => {
      seen.push(['early', clock.now()]);
      clock.after(5, () => seen.push(['nested', clock.monotonic()]));
    });
    clock.after(31, () => seen.push(['never', 0]));
    await clock.advance(30);
    expect(seen).toEqual([
      ['early', 1_010],
      ['nested', 15],
      ['late', 1_020],
    ]);
    expect(clock.now()).toBe(1_030);
    expect(clock.timers).toBe(1);
  });

  it('runs those due at the same time in the order in which they were set', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    for (const number of [1, 2, 3]) clock.after(10, () => seen.push(number));
    await clock.advance(10);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('forgets a cancelled timer', async () => {
    const clock = new FakeClock();
    {
      using _timer = clock.after(10, () => expect.unreachable());
    }
    await clock.advance(20);
    expect(clock.timers).toBe(0);
  });
});

describe.each([
  ['FakeClock', () => new FakeClock()],
  ['systemClock', () => systemClock],
])('sleep of %s', (_name, create) => {
  it('rejects with the reason of a signal that aborts, and leaves no timer', async () => {
    const clock = create();
    const controller = new AbortController();
    const asleep = clock.sleep(1_000_000, controller.signal);
    controller.abort(new Error('woken'));
    await expect(asleep).rejects.toThrow('woken');
    if (clock instanceof FakeClock) expect(clock.timers).toBe(0);
  });

  it('rejects at once when the signal has aborted already', async () => {
    await expect(create().sleep(1_000_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  });

  it('resolves when the time has passed', async () => {
    const clock = create();
    const asleep = clock.sleep(1);
    if (clock instanceof FakeClock) await clock.advance(1);
    await expect(asleep).resolves.toBeUndefined();
  });
});

it('the system clock tells the time of the host and never runs back', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000);
  const first = systemClock.monotonic();
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(first);
});

describe('the steady clock', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('tells the time of day, and does not follow a step of the host’s clock', () => {
    const before = steadyNow();
    // They differ only if the host's clock has been set since the process started.
    expect(Math.abs(before - Date.now())).toBeLessThan(24 * 3600 * 1000);
    vi.spyOn(Date, 'now').mockReturnValue(before + 48 * 3600 * 1000);
    const after = steadyNow();
    expect(after).toBeGreaterThanOrEqual(before);
    expect(after).toBeLessThan(before + 24 * 3600 * 1000);
  });
});

describe('a timer of the system', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('does not run once it is cancelled', () => {
    systemClock.after(10, () => expect.unreachable()).cancel();
    {
      using _timer = systemClock.after(10, () => expect.unreachable());
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of more than Node waits for runs after the longest time, and not at once', () => {
    const run = vi.fn();
    systemClock.after(longestTimerMs + 6_000, run);
    vi.advanceTimersByTime(longestTimerMs - 1);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledOnce();
  });
});
