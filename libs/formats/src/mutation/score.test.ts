import { expect, test } from 'vitest';
import { scoreOf } from './score.ts';

test('a score over all mutants is exact', () => {
  expect(scoreOf(17, 20, false)).toEqual({ percent: 85, low: 85, high: 85 });
});

test('a score from a sample gives its bounds', () => {
  const { percent, low, high } = scoreOf(700, 800, true);
  expect(percent).toBe(87.5);
  expect(low).toBeCloseTo(85.03, 2);
  expect(high).toBeCloseTo(89.61, 2);
});

test('nothing judged is nothing noticed', () => {
  expect(scoreOf(0, 0, true)).toEqual({ percent: 0, low: 0, high: 0 });
});
