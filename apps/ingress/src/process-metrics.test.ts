import { expect, test } from 'vitest';
import { everyRefusal } from './process-metrics.ts';

test('no two things that refuse share a name: alerts and fallbacks tell them apart by it', () => {
  expect(everyRefusal.filter((name, index) => everyRefusal.indexOf(name) !== index)).toEqual([]);
});
