/** The longest that a user waits because a server asks for it. */
const longestMs = 30_000;

/** How long a user that could not connect waits. Without it, a dead server would be called as fast as possible. */
export const unreachableWaitMs = 100;

/**
 * How long an answer asks its caller to wait before the next request: 0 unless it is a 429 or 503 with a `retry-after`
 * in seconds or as a date, 30 s at most. `now` is in milliseconds since 1970.
 */
export function retryWaitMs(status: number, retryAfter: string | undefined, now: number): number {
  if ((status !== 429 && status !== 503) || retryAfter === undefined) return 0;
  const isSeconds = /^\s*\d+(\.\d+)?\s*$/.test(retryAfter);
  const waitMs = isSeconds ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
  return waitMs > 0 ? Math.min(waitMs, longestMs) : 0;
}
