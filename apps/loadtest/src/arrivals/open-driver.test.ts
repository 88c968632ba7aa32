import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseScenario, type ScenarioInput } from '../scenario/scenario.ts';
import type { LoadEnd } from './load-driver.ts';
import { OpenDriver } from './open-driver.ts';

let begun: number[];
let end: LoadEnd | undefined;
/** What the clock is ahead of the timers. */
let clockMs = 0;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  begun = [];
  end = undefined;
  clockMs = 0;
});
afterEach(() => vi.useRealTimers());

function open(
  instants: Iterable<number>,
  input: ScenarioInput,
  isEven = false,
  onBegin = () => {},
): OpenDriver {
  const scenario = parseScenario({ target: 'http://127.0.0.1', durationMs: '1s', ...input });
  const options = {
    scenario,
    share: { index: 0, of: 1 },
    trace: undefined,
    clock: { now: () => Date.now() + clockMs },
    startAt: 0,
    begin(_arrival: number, intendedAt: number) {
      begun.push(intendedAt);
      onBegin();
      return true;
    },
    exhausted(how: LoadEnd) {
      end = how;
    },
  };
  const driver = new OpenDriver(options, { instants: instants[Symbol.iterator](), isPrecise: false, isEven });
  driver.start();
  return driver;
}

const trace = { kind: 'trace' as const, file: 'a.csv' };
const every100 = [50, 150, 250, 350, 450, 550, 650, 750, 850, 950, 1050];

describe('an open loop', () => {
  it('lets others have their turn while more is due than it can begin', async () => {
    let turns = 0;
    const turnsAt: number[] = [];
    setImmediate(() => {
      turns += 1;
    });
    // Ten thousand at once, each of which takes a tenth of a millisecond to begin.
    const at = Array.from({ length: 10_000 }, () => 0);
    const driver = open(at, { load: trace }, false, () => {
      clockMs += 0.1;
      turnsAt.push(turns);
    });
    await vi.runAllTimersAsync();
    expect(begun).toHaveLength(10_000);
    expect(turnsAt.indexOf(1)).toBeGreaterThan(0);
    expect(turnsAt.indexOf(1)).toBeLessThanOrEqual(60);
    driver.stop();
  });

  it('gives up what is still to begin when the grace is over too', async () => {
    // Each takes 100 ms to begin; all are due within a second.
    const driver = open(
      every100.flatMap((at) => [at, at]),
      { graceMs: '500ms' },
      false,
      () => {
        clockMs += 100;
      },
    );
    await vi.runAllTimersAsync();
    expect(end).toBe('stopped');
    expect(begun).toHaveLength(15);
    expect(driver.unsent()).toBe(5);
    // To the instant at which the first was due that was not sent.
    expect(driver.measuredMs()).toBe(750);
  });

  it('is measured over the time that it was to last, not to its last arrival', async () => {
    const driver = open(every100, { warmupMs: '400ms' }, true);
    await vi.runAllTimersAsync();
    expect(begun).toHaveLength(10);
    expect(end).toBe('time');
    expect(driver.measuredMs()).toBe(600);
  });

  it('is measured over its whole time when its rate falls to nothing', () => {
    const driver = open([0, 0], {});
    expect(end).toBe('time');
    expect(driver.measuredMs()).toBe(1000);
  });

  it.each([
    [3, true, 300],
    [1, true, 100],
    // Without memory, the time to the next arrival is a gap like all others.
    [3, false, 350],
  ])('of %i requests is measured over as many gaps (even: %s)', async (requests, isEven, measuredMs) => {
    const driver = open(every100, { requests }, isEven);
    await vi.runAllTimersAsync();
    expect(begun).toHaveLength(requests);
    expect(end).toBe('used-up');
    expect(driver.measuredMs()).toBe(measuredMs);
  });

  it('of a trace is measured to its last arrival and a mean gap', async () => {
    const driver = open([0, 100, 400], { load: trace });
    await vi.runAllTimersAsync();
    expect(end).toBe('used-up');
    expect(driver.measuredMs()).toBe(600);
  });

  it('has no length when all arrive at once', async () => {
    const driver = open([0, 0, 0, 0], { load: trace });
    await vi.runAllTimersAsync();
    expect(driver.measuredMs()).toBe(0);
  });

  it('is measured to where it was stopped', async () => {
    const driver = open(every100, {}, true);
    await vi.advanceTimersByTimeAsync(500);
    driver.stop();
    await vi.advanceTimersByTimeAsync(500);
    expect(end).toBe('stopped');
    expect(begun).toHaveLength(5);
    expect(driver.measuredMs()).toBe(500);
  });
});
