/** BullMQ's greatest priority number, which is served last. */
const last = 2 ** 21 - 1;
/**
 * Priorities per doubling of the time: 131 s in steps of a millisecond, and then to a 190,000th of the time since
 * when the pool is busy. So they last for 99 days without a quiet minute, and need no turning over.
 */
const steps = 2 ** 17;

/** What decides about a request's place among those that wait. */
export interface Place {
  /** Generations of its tenant that are in the pool already, waiting or running. */
  outstanding: number;
  slots: number;
  /** Mean service time of the pool, in milliseconds. */
  meanMs: number;
  /** For how long the pool has been busy, in milliseconds. */
  busyForMs: number;
}

/**
 * The BullMQ priority of a tenant's next request: the instant at which its turn would come if all before it were
 * its tenant's own. So a tenant that queues a thousand doesn't delay another's one, and since the instant moves on
 * with the time, nobody who waits is overtaken for longer than the pool was expected to take for him anyway.
 * The time counts from the moment when the pool became busy, and not anew as soon as a slot is free: workers that are
 * slow to pick up leave some waiting, who would stand behind all that come after them.
 */
export function fairPriority({ outstanding, slots, meanMs, busyForMs }: Place): number {
  const dueMs = busyForMs + (outstanding * meanMs) / slots;
  return Math.min(last, 1 + Math.floor(steps * Math.log2(1 + dueMs / steps)));
}
