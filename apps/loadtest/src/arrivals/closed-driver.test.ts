import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseScenario, type ScenarioInput } from '../scenario/scenario.ts';
import { createDriver } from './create-driver.ts';
import type { LoadDriver, Share } from './load-driver.ts';

let driver: LoadDriver;
let begun: number;
/** The numbers of the requests. */
let arrivals: number[];
/** When each request began, in milliseconds since the start. */
let beginnings: number[];
/** How long after its instant each request could be sent. */
let waits: number[];
/** How long before its instant each request began. */
let leads: number[];
let exhaustedAt: number | undefined;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  begun = 0;
  arrivals = [];
  beginnings = [];
  waits = [];
  leads = [];
  exhaustedAt = undefined;
});
afterEach(() => vi.useRealTimers());

interface Play {
  users: number;
  /** Answers take so long; Infinity never comes. By the number of the request. */
  answerMs(arrival: number): number;
  /** What answers ask their callers to wait. Absent: nothing. */
  retryWaitMs?: number;
  load?: { thinkMs?: string; paceMs?: string; rampUpMs?: string };
  scenario?: ScenarioInput;
  /** The process's part. Absent: it is the only one. */
  share?: Share;
}

/** Plays a load for an hour of the fake clock. */
async function play(playing: Play): Promise<void> {
  const { users, answerMs, load, scenario, retryWaitMs = 0, share = { index: 0, of: 1 } } = playing;
  const startAt = Date.now();
  const parsed = parseScenario({
    target: 'http://127.0.0.1',
    durationMs: '1s',
    load: { kind: 'closed', users, rampUpMs: '0', ...load },
    ...scenario,
  });
  driver = createDriver({
    scenario: parsed,
    share,
    trace: undefined,
    clock: { now: () => Date.now() },
    startAt,
    begin(arrival, intendedAt, _trace, over, readyAt = intendedAt) {
      begun += 1;
      arrivals.push(arrival);
      beginnings.push(Date.now() - startAt);
      waits.push(readyAt - intendedAt);
      leads.push(intendedAt - Date.now());
      const waitMs = answerMs(arrival);
      if (waitMs < Number.POSITIVE_INFINITY) setTimeout(() => over(retryWaitMs), waitMs);
      return intendedAt >= startAt + parsed.warmupMs;
    },
    exhausted() {
      exhaustedAt = Date.now();
    },
  });
  driver.start();
  await vi.advanceTimersByTimeAsync(3_600_000);
}

describe('a closed loop', () => {
  it('begins nothing after its time, and counts whole rounds', async () => {
    await play({ users: 4, answerMs: () => 400 });
    expect(begun).toBe(12);
    expect(exhaustedAt).toBe(1_000);
    expect(driver.measuredMs()).toBe(1_200);
  });

  it('counts from the first measured request of a user', async () => {
    await play({ users: 4, answerMs: () => 400, scenario: { warmupMs: '500ms' } });
    expect(begun).toBe(12);
    // The third round alone, from 800 to 1,200.
    expect(driver.measuredMs()).toBe(400);
  });

  it('ends in time when a user never gets his answer, and is counted over the time of the others', async () => {
    await play({ users: 5, answerMs: (arrival) => (arrival === 2 ? Number.POSITIVE_INFINITY : 400) });
    expect(exhaustedAt).toBe(1_000);
    expect(begun).toBe(13);
    expect(driver.measuredMs()).toBe(1_200);
  });

  it('does not wait for users who think, and counts their thinking', async () => {
    await play({ users: 3, answerMs: () => 100, load: { thinkMs: '5s' } });
    expect(exhaustedAt).toBe(1_000);
    expect(begun).toBe(3);
    expect(driver.measuredMs()).toBe(5_100);
  });

  it('ends when all its requests have their answers', async () => {
    await play({ users: 4, answerMs: () => 10, scenario: { requests: 10 } });
    expect(begun).toBe(10);
    expect(exhaustedAt).toBe(30);
    expect(driver.measuredMs()).toBe(30);
  });

  it.each([
    [4, 2, 20],
    [3, 2, 30],
    [10, 4, 100],
    [1, 2, 10],
  ])(
    'of %i users in %i processes shares %i requests by how many users each has',
    async (users, of, requests) => {
      const lasted: number[] = [];
      for (let index = 0; index < of; index++) {
        const share = { index, of };
        await play({ users, answerMs: () => 10, scenario: { requests }, share });
        if (index < users) lasted.push(driver.measuredMs());
      }
      expect(arrivals.sort((a, b) => a - b)).toEqual(Array.from({ length: requests }, (_, at) => at));
      // As long as in a single process, in all of them.
      expect(new Set(lasted)).toEqual(new Set([(10 * requests) / users]));
    },
  );

  it('starts users evenly, in however many processes they are', async () => {
    const load = { rampUpMs: '800ms' };
    for (const index of [0, 1, 2])
      await play({ users: 4, answerMs: () => Infinity, load, share: { index, of: 3 } });
    expect(beginnings.sort((a, b) => a - b)).toEqual([0, 200, 400, 600]);
  });

  it('is not over at once when it may last longer than a timer can', async () => {
    await play({ users: 1, answerMs: () => 60_000, scenario: { durationMs: '1000h' } });
    expect(begun).toBe(61);
    expect(exhaustedAt).toBeUndefined();
    driver.stop();
  });

  it('keeps the pace that users intend while answers are quicker', async () => {
    await play({ users: 2, answerMs: () => 10, load: { paceMs: '100ms' } });
    expect(begun).toBe(20);
    expect(driver.measuredMs()).toBeCloseTo(1_000, 6);
  });

  it('begins no paced request before its instant, as timers do, which drop fractions', async () => {
    await play({ users: 20, answerMs: () => 10, load: { paceMs: '100ms' } });
    expect(begun).toBeGreaterThan(100);
    expect(Math.max(...leads)).toBeLessThanOrEqual(0);
  });

  it.each([
    ['0', 4],
    ['490ms', 2],
  ])('waits as long as a server asks for, while users think %s', async (thinkMs, requests) => {
    await play({ users: 1, answerMs: () => 10, retryWaitMs: 240, load: { thinkMs } });
    expect(begun).toBe(requests);
  });

  it('lets a paced user who was asked to wait go on from there', async () => {
    await play({ users: 1, answerMs: () => 10, retryWaitMs: 490, load: { paceMs: '100ms' } });
    expect(begun).toBe(2);
  });

  it('tells the wait of a paced user for his answer from a late client', async () => {
    await play({ users: 1, answerMs: () => 250, load: { paceMs: '100ms' }, scenario: { requests: 4 } });
    expect(waits).toEqual([0, 150, 300, 450].map((ms) => expect.closeTo(ms, -1)));
  });

  it('sends what was due for a pace, however late, and counts the time in which it was due', async () => {
    // From 200 ms on nothing is answered until 900 ms.
    const answerMs = () => Math.max(1, Date.now() < 200 ? 1 : 900 - Date.now());
    await play({ users: 10, answerMs, load: { paceMs: '20ms' }, scenario: { durationMs: '600ms' } });
    expect(begun).toBe(300);
    // All but the first one after 200 ms of each user.
    expect(waits.filter((ms) => ms > 200).length).toBeGreaterThanOrEqual(190);
    expect(driver.measuredMs()).toBeCloseTo(600, 6);
    expect(driver.unsent()).toBe(0);
    expect(exhaustedAt).toBeGreaterThan(900);
    expect(exhaustedAt).toBeLessThan(950);
  });

  it('gives up what was due for a pace when the grace is over, and tells how much', async () => {
    const answerMs = (arrival: number) => (arrival === 0 ? Infinity : 400);
    const scenario = { durationMs: '1s', graceMs: '1s' };
    await play({ users: 2, answerMs, load: { paceMs: '100ms' }, scenario });
    // One user has no answer, the other one asks at most every 400 ms until two seconds are over.
    expect(exhaustedAt).toBe(2_000);
    expect(begun).toBe(1 + 5);
    expect(driver.unsent()).toBe(9 + 5);
    expect(driver.measuredMs()).toBeLessThanOrEqual(1_000);
  });

  it('can be stopped', async () => {
    const playing = play({ users: 4, answerMs: () => 400 });
    driver.stop();
    await playing;
    expect(begun).toBe(4);
    expect(exhaustedAt).toBe(0);
  });
});
