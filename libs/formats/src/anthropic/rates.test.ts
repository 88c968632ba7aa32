import { expect, it } from 'vitest';
import { encodeRates } from './rates.ts';

const now = Date.UTC(2026, 10, 23, 12);

it('reports each rate under the names of the dialect', () => {
  const rates = [
    { counts: 'requests', max: 60, left: 12, fullAt: now + 47_200 },
    { counts: 'tokens', max: 100_000, left: 0, fullAt: now - 1 },
  ] as const;
  expect(encodeRates(rates, now)).toEqual({
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '12',
    'anthropic-ratelimit-requests-reset': '2026-11-23T12:00:48Z',
    'anthropic-ratelimit-tokens-limit': '100000',
    'anthropic-ratelimit-tokens-remaining': '0',
    'anthropic-ratelimit-tokens-reset': '2026-11-23T12:00:00Z',
  });
});

it('survives a time beyond the last date', () => {
  const rate = { counts: 'requests', max: 1, left: 0, fullAt: Number.MAX_SAFE_INTEGER } as const;
  expect(encodeRates([rate], now)['anthropic-ratelimit-requests-reset']).toBe('+275760-09-13T00:00:00Z');
});
