import type { RateState } from '@sluice/canonical';

/** Beyond it there are no dates; a period can be as long as somebody likes. */
const lastInstant = 8_640_000_000_000_000;

/** `anthropic-ratelimit-…` headers; a time is an instant in RFC 3339, in whole seconds. */
export function encodeRates(rates: readonly RateState[], now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { counts, max, left, fullAt } of rates) {
    const at = new Date(Math.min(lastInstant, Math.ceil(Math.max(now, fullAt) / 1000) * 1000));
    headers[`anthropic-ratelimit-${counts}-limit`] = String(max);
    headers[`anthropic-ratelimit-${counts}-remaining`] = String(left);
    headers[`anthropic-ratelimit-${counts}-reset`] = at.toISOString().replace('.000', '');
  }
  return headers;
}
