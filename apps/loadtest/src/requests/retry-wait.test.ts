import { expect, it } from 'vitest';
import { retryWaitMs } from './retry-wait.ts';

const now = Date.parse('2026-11-22T10:00:00Z');

it.each([
  [429, '2', 2_000],
  [503, '0.5', 500],
  [429, 'Sun, 22 Nov 2026 10:00:03 GMT', 3_000],
  [429, 'Sun, 22 Nov 2026 09:00:00 GMT', 0],
  [429, '3600', 30_000],
  [429, 'soon', 0],
  [429, undefined, 0],
  [500, '2', 0],
  [200, '2', 0],
])('after a %i with retry-after %s a user waits %i ms', (status, header, ms) => {
  expect(retryWaitMs(status, header, now)).toBe(ms);
});
