import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LoadEnd } from './load-driver.ts';
import { OpenDriver } from './open-driver.ts';
import { parseScenario, type ScenarioInput } from './scenario.ts';

let begun: number[];
let end: LoadEnd | undefined;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  begun = [];
  end = undefined;
});
afterEach(() => vi.useRealTimers());

function open(instants: Iterable<number>, input: ScenarioInput, isEven = false): OpenDriver {
  const scenario = parseScenario({ target: 'http://127.0.0.1', durationMs: '1s', ...input });
  const options = {
    scenario,
    share: { index: 0, of: 1 },
    trace: undefined,
    clock: { now: () => Date.now() },
    startAt: 0,
    begin(_arrival: number, intendedAt: number) {
      begun.push(intendedAt);
      return true;
    },
    exhausted(how: LoadEnd) {
      end = how;
    },
  };
  const driver = new OpenDriver(options, { instants: instants[Symbol.iterator](), rate: 1000, isEven });
  driver.start();
  return driver;
}

const trace = { kind: 'trace' as const, file: 'a.csv' };
const every100 = [50, 150, 250, 350, 450, 550, 650, 750, 850, 950, 1050];

describe('an open loop', () => {
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
