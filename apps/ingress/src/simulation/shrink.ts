import { type Outcome, type PlayOptions, play } from './play.ts';
import { type Schedule, smallerSchedules } from './schedule.ts';

/** A failing schedule, as small as single steps can make it, with a trace of everything that happens in it. */
export interface Counterexample {
  schedule: Schedule;
  failure: string;
  trace: string[];
}

/** Makes a failing schedule smaller as long as it goes on failing, for whatever reason. */
export async function shrink(failing: Schedule, options: PlayOptions = {}): Promise<Counterexample> {
  let schedule = failing;
  let smaller = await firstFailing(schedule, options);
  while (smaller) {
    schedule = smaller;
    smaller = await firstFailing(schedule, options);
  }
  const trace: string[] = [];
  const { failure }: Outcome = await play(schedule, { ...options, trace: (line) => trace.push(line) });
  return { schedule, failure: failure ?? 'none: it failed only before', trace };
}

async function firstFailing(schedule: Schedule, options: PlayOptions): Promise<Schedule | undefined> {
  for (const smaller of smallerSchedules(schedule)) {
    const { failure } = await play(smaller, options);
    if (failure !== undefined) return smaller;
  }
  return undefined;
}

/** Describes a counterexample for people. */
export function describeCounterexample({ schedule, failure, trace }: Counterexample): string {
  return [
    failure,
    `seed ${schedule.seed}, made as small as possible:`,
    JSON.stringify(schedule, null, 2),
    ...trace,
  ].join('\n');
}
