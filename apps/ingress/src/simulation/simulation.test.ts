import { describe, expect, it } from 'vitest';
import { defects } from './defects.ts';
import { type Outcome, type PlayOptions, play } from './play.ts';
import { drawCuts, drawFar, drawSchedule, drawStarvation, type Schedule } from './schedule.ts';
import { describeCounterexample, shrink } from './shrink.ts';

const schedules = 100_000;
/** Every defect has to show in at least one of this many schedules. */
const enoughForADefect = 5_000;
/** After a reconnect, the missing frames need two trips of 5 ms, and some time for what shares the way. */
const repairMs = 50;

async function firstFailure(
  count: number,
  options: PlayOptions,
  draw = drawSchedule,
): Promise<Schedule | undefined> {
  for (let seed = 1; seed <= count; seed += 1) {
    const { failure } = await play(draw(seed), options);
    if (failure !== undefined) return draw(seed);
  }
  return undefined;
}

/** How long it took, once the worker had written the end and the connection stood, until the client had it. */
function repairTime({ clients, runs }: Outcome, { faults }: Schedule): number {
  let longest = 0;
  for (const client of clients) {
    const run = runs.find(({ requestId }) => requestId === client.id);
    // Cuts may overlap: the connection stands when all that have begun are over.
    let possibleAt = run?.endedAt ?? 0;
    for (const fault of faults) {
      if (fault.kind === 'ingress-cut' && fault.at <= client.endedAt)
        possibleAt = Math.max(possibleAt, fault.at + fault.forMs);
    }
    longest = Math.max(longest, client.endedAt - possibleAt);
  }
  return longest;
}

describe('the delivery protocol under faults', () => {
  it(`keeps every promise in ${schedules} schedules`, { timeout: 900_000 }, async () => {
    const totals = { complete: 0, error: 0, refused: 0, left: 0, fenced: 0, lostWorkers: 0 };
    for (let seed = 1; seed <= schedules; seed += 1) {
      const { failure, clients, fencedFrames, lostWorkers } = await play(drawSchedule(seed));
      if (failure !== undefined) expect.fail(describeCounterexample(await shrink(drawSchedule(seed))));
      for (const { outcome } of clients) totals[outcome ?? 'left'] += 1;
      totals.fenced += fencedFrames;
      totals.lostWorkers += lostWorkers;
    }
    // Kept promises prove something only if everything that could break them has happened often enough.
    expect(totals.fenced).toBeGreaterThan(schedules / 100);
    expect(totals.lostWorkers).toBeGreaterThan(schedules / 10);
    for (const outcome of ['complete', 'error', 'refused', 'left'] as const) {
      expect(totals[outcome], outcome).toBeGreaterThan(schedules / 100);
    }
  });

  it('plays a schedule twice in the same way', async () => {
    const tell = async (seed: number): Promise<string[]> => {
      const lines: string[] = [];
      await play(drawSchedule(seed), { trace: (line) => lines.push(line) });
      return lines;
    };
    for (let seed = 1; seed <= 50; seed += 1) expect(await tell(seed)).toEqual(await tell(seed));
  });

  it('repairs at once what a cut of the subscription has cost', async () => {
    for (let seed = 1; seed <= 2_000; seed += 1) {
      const schedule = drawCuts(seed);
      const outcome = await play(schedule);
      expect(outcome.failure).toBeUndefined();
      expect(outcome.runs).toHaveLength(schedule.requests.length);
      expect(repairTime(outcome, schedule), `seed ${seed}`).toBeLessThanOrEqual(repairMs);
    }
  });

  it('takes no late claim for a lost job, however little time the workers get', async () => {
    for (let seed = 1; seed <= 2_000; seed += 1) {
      const { failure, clients, runs } = await play(drawStarvation(seed));
      expect(failure, `seed ${seed}`).toBeUndefined();
      expect(runs.length, `seed ${seed}`).toBe(clients.length);
    }
  });

  it('takes no job for lost that is long on its way', async () => {
    for (let seed = 1; seed <= 2_000; seed += 1) {
      const { failure, clients, runs } = await play(drawFar(seed));
      expect(failure, `seed ${seed}`).toBeUndefined();
      expect(runs.length, `seed ${seed}`).toBe(clients.length);
    }
  });

  it('notices when an ingress does not wait for the word of its workers', async () => {
    let needless = 0;
    for (let seed = 1; seed <= 500; seed += 1) {
      const { clients, runs } = await play(drawStarvation(seed), { isHasty: true });
      needless += runs.length - clients.length;
    }
    expect(needless).toBeGreaterThan(10);
  });

  it('notices when nobody asks after a reconnect', async () => {
    let longest = 0;
    for (let seed = 1; seed <= 500; seed += 1) {
      const schedule = drawCuts(seed);
      longest = Math.max(longest, repairTime(await play(schedule, { isIncurious: true }), schedule));
    }
    expect(longest).toBeGreaterThan(repairMs);
  });

  it.each(Object.entries(defects))('finds the defect: %s', async (_name, createMachine) => {
    const failing = await firstFailure(enoughForADefect, { createMachine });
    if (!failing) expect.fail('no schedule shows it');
    const smallest = await shrink(failing, { createMachine });
    expect(smallest.failure).not.toMatch(/^none/);
    expect(smallest.trace.length).toBeGreaterThan(0);
    // The same schedule is fine with the real machine, so that it is the defect that was found.
    expect((await play(smallest.schedule)).failure).toBeUndefined();
  });
});
