import { expect, it } from 'vitest';
import { encodeRates } from './rates.ts';

const now = Date.UTC(2026, 10, 23);

it('reports each rate under the names of the dialect', () => {
  const rates = [
    { counts: 'requests', max: 60, left: 12, fullAt: now + 48_000 },
    { counts: 'tokens', max: 100_000, left: 0, fullAt: now + 60_000 },
  ] as const;
  expect(encodeRates(rates, now)).toEqual({
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '12',
    'x-ratelimit-reset-requests': '48s',
    'x-ratelimit-limit-tokens': '100000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '1m0s',
  });
  expect(encodeRates([], now)).toEqual({});
});

it.each([
  [-5, '0s'],
  [0, '0s'],
  [1, '1s'],
  [59_001, '1m0s'],
  [360_000, '6m0s'],
  [3_605_000, '1h0m5s'],
  [86_400_000, '24h0m0s'],
])('writes %d ms as %s', (waitMs, text) => {
  const [rate] = [{ counts: 'requests', max: 1, left: 0, fullAt: now + waitMs } as const];
  expect(encodeRates([rate], now)['x-ratelimit-reset-requests']).toBe(text);
});
