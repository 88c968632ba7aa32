const shortestMs = 1_000;
const longestMs = 60_000;

/** A wait as clients are told it: 1 to 60 seconds, or 1 second if the wait is not known. */
export function patience(waitMs: number | undefined): number {
  return Math.min(longestMs, Math.max(shortestMs, Math.ceil(waitMs ?? shortestMs)));
}

/**
 * How long a saturated pool needs for the requests that wait: backlog ÷ (slots ÷ mean service time), 1 to 60 seconds.
 */
export function saturationRetryAfterMs(pool: { inFlight: number; slots: number; meanMs: number }): number {
  const backlog = Math.max(0, pool.inFlight - pool.slots);
  return patience((backlog * pool.meanMs) / pool.slots);
}
