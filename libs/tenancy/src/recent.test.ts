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

it('the least recently used entries are dropped, however often others are used, deleted or all cleared', () => {
  const recent = new Recent<string>(3, () => 0);
  const known: string[] = [];
  const forget = (name: string) => {
    const index = known.indexOf(name);
    if (index >= 0) known.splice(index, 1);
  };
  for (let step = 0; step < 2_000; step++) {
    const name = `${(step * 7) % 11}`;
    if (step % 5 === 3) {
      recent.delete(name);
      forget(name);
    } else if (step % 97 === 0) {
      recent.clear();
      known.length = 0;
    } else {
      recent.set(name, name, 10);
      forget(name);
      known.push(name);
      if (known.length > 3) known.shift();
    }
    expect(recent.size).toBe(known.length);
    // In their order, so that this use changes nothing.
    for (const kept of [...known]) expect(recent.get(kept)).toBe(kept);
  }
});

it('of many entries some are dropped at once, the oldest', () => {
  const recent = new Recent<number>(300, () => 0);
  for (let index = 0; index <= 300; index++) recent.set(`${index}`, index, 10);
  expect(recent.size).toBe(298);
  expect([2, 3, 300].map((index) => recent.get(`${index}`))).toEqual([undefined, 3, 300]);
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
