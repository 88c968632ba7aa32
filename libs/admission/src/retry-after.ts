const shortestMs = 1_000;
const longestMs = 60_000;

/** A wait as a client may be told it: 1 to 60 seconds, 1 where nothing is known. */
export function patience(waitMs: number | undefined): number {
  return Math.min(longestMs, Math.max(shortestMs, Math.ceil(waitMs ?? shortestMs)));
}

/** When a saturated pool will have worked off what waits: backlog ÷ (slots ÷ mean service time), 1 to 60 seconds. */
export function saturationRetryAfterMs(pool: { inFlight: number; slots: number; meanMs: number }): number {
  const backlog = Math.max(0, pool.inFlight - pool.slots);
  return patience((backlog * pool.meanMs) / pool.slots);
}
