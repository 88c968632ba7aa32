import type { RateState } from '@sluice/canonical';

const namesFor = (counts: RateState['counts']) => ({
  limit: `x-ratelimit-limit-${counts}`,
  remaining: `x-ratelimit-remaining-${counts}`,
  reset: `x-ratelimit-reset-${counts}`,
});
/** Built once: newly built strings are expensive as keys. */
const names = { requests: namesFor('requests'), tokens: namesFor('tokens') };

/** `x-ratelimit-…` headers. Times are written like Go's durations, in whole seconds: `1s`, `6m0s`, `1h0m5s`. */
export function encodeRates(rates: readonly RateState[], now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { counts, max, left, fullAt } of rates) {
    const { limit, remaining, reset } = names[counts];
    headers[limit] = String(max);
    headers[remaining] = String(left);
    headers[reset] = encodeWait(fullAt - now);
  }
  return headers;
}

function encodeWait(waitMs: number): string {
  const seconds = Math.max(0, Math.ceil(waitMs / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${seconds % 60}s`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`;
}
