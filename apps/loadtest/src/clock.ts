import { performance } from 'node:perf_hooks';

/** Milliseconds with a fraction, never going back. */
export interface Clock {
  now(): number;
}

/**
 * A clock that all processes of one host share, so that an instant stamped by one process can be compared in
 * another. It counts from the start of the host, not from 1970.
 */
export function createHostClock(): Clock {
  const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return { now: () => performance.now() + offsetMs };
}

/** The longest time of a timer, in milliseconds; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;
