import type { Task } from './tasks.ts';

/** How long to measure. */
export interface MeasureOptions {
  rounds: number;
  /** Length of a round in milliseconds. */
  roundMs: number;
  /** Monotonic milliseconds. */
  now(): number;
}

/** Units per second of the best round: other processes share the machine and only ever make a round slower. */
export function measure(task: Task, { rounds, roundMs, now }: MeasureOptions): number {
  let best = 0;
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const startedAt = now();
    let runs = 0;
    while (now() - startedAt < roundMs) {
      task.run();
      runs += 1;
    }
    if (round > 0) best = Math.max(best, (runs * task.units * 1_000) / (now() - startedAt));
  }
  return Math.round(best);
}

/**
 * Heap bytes that one unit leaves to the garbage collector, after warming up. Needs `--expose-gc`; absent without it.
 */
export function measureGarbage(task: Task, collectGarbage: (() => void) | undefined): number | undefined {
  if (!collectGarbage) return undefined;
  for (let run = 0; run < 200; run += 1) task.run();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  task.run();
  return Math.max(0, (process.memoryUsage().heapUsed - before) / task.units);
}
