import { expect, test } from 'vitest';
import { percentilesOf } from './load.ts';

test('a metric that no answer had has no percentiles, and none of 0 ms', () => {
  const percentiles = { p50: 0, p99: 0 };
  expect(percentilesOf({ count: 0, max: 0, percentiles })).toEqual({});
  expect(percentilesOf({ count: 1, max: 0, percentiles })).toEqual(percentiles);
});
