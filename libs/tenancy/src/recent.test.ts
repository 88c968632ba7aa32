import { expect, it } from 'vitest';
import { Recent } from './recent.ts';

it.each([
  ['got', (recent: Recent<number>) => recent.get('a')],
  ['set', (recent: Recent<number>) => recent.set('a', 1, 10)],
])('the entry makes room that was %s least recently', (_used, use) => {
  const recent = new Recent<number>(2, () => 0);
  recent.set('a', 1, 10);
  recent.set('b', 2, 10);
  use(recent);
  recent.set('c', 3, 10);
  expect([recent.get('a'), recent.get('b'), recent.get('c'), recent.size]).toEqual([1, undefined, 3, 2]);
});

it('an entry expires at its time, even if it is in use', () => {
  let now = 0;
  const recent = new Recent<number>(2, () => now);
  recent.set('a', 1, 10);
  now = 9;
  expect(recent.get('a')).toBe(1);
  now = 10;
  expect(recent.get('a')).toBeUndefined();
  expect(recent.size).toBe(0);
});
