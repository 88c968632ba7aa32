import type { RateState } from '@sluice/canonical';

/** The latest date there is. A rate's period may be long enough to pass it. */
const lastInstant = 8_640_000_000_000_000;

const namesFor = (counts: RateState['counts']) => ({
  limit: `anthropic-ratelimit-${counts}-limit`,
  remaining: `anthropic-ratelimit-${counts}-remaining`,
  reset: `anthropic-ratelimit-${counts}-reset`,
});
/** Built once: newly built strings are expensive as keys. */
const names = { requests: namesFor('requests'), tokens: namesFor('tokens') };

/** `anthropic-ratelimit-…` headers. Times are RFC 3339 instants in whole seconds. */
export function encodeRates(rates: readonly RateState[], now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { counts, max, left, fullAt } of rates) {
    const at = new Date(Math.min(lastInstant, Math.ceil(Math.max(now, fullAt) / 1000) * 1000));
    const { limit, remaining, reset } = names[counts];
    headers[limit] = String(max);
    headers[remaining] = String(left);
    headers[reset] = at.toISOString().replace('.000', '');
  }
  return headers;
}
