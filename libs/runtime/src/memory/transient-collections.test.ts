import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Seat, TransientMap, TransientSet } from './transient-collections.ts';
import { keepAllocationsYoung } from './young-generation.ts';

interface Thing {
  name: string;
  seat?: Seat<Thing> | undefined;
}

describe('a map of what comes and goes', () => {
  it('is a map', () => {
    const map = new TransientMap<string, number>();
    map.set('a', 1);
    map.set('b', 2);
    map.set('a', 3);
    expect([map.size, map.get('a'), map.has('b'), map.get('c'), map.has('c')]).toEqual([
      2,
      3,
      true,
      undefined,
      false,
    ]);
    expect([...map]).toEqual([
      ['a', 3],
      ['b', 2],
    ]);
    expect([map.delete('a'), map.delete('a'), map.has('a'), map.get('a')]).toEqual([
      true,
      false,
      false,
      undefined,
    ]);
    expect([[...map.values()], map.size]).toEqual([[2], 1]);
  });

  it('lets what it gives out be deleted', () => {
    const map = new TransientMap<number, string>();
    for (let key = 0; key < 100; key += 1) map.set(key, String(key));
    for (const [key] of map) map.delete(key);
    expect(map.size).toBe(0);
  });
});

describe('a set of what comes and goes', () => {
  it('is a set', () => {
    const set = new TransientSet<Thing>();
    const [one, other, stranger] = [{ name: 'one' }, { name: 'other' }, { name: 'stranger' }];
    for (const each of [one, other, one]) set.add(each);
    expect([set.size, [...set]]).toEqual([2, [one, other]]);
    expect([set.delete(one), set.delete(one), set.delete(stranger)]).toEqual([true, false, false]);
    expect([...set]).toEqual([other]);
    set.add(one);
    expect([...set]).toEqual([other, one]);
  });

  it('takes nobody out of another', () => {
    const [set, another] = [new TransientSet<Thing>(), new TransientSet<Thing>()];
    const one = { name: 'one' };
    another.add(one);
    expect([set.delete(one), another.size, another.delete(one)]).toEqual([false, 1, true]);
  });

  it('does not give out who has left meanwhile', () => {
    const set = new TransientSet<Thing>();
    const [one, other] = [{ name: 'one' }, { name: 'other' }];
    set.add(one);
    set.add(other);
    const met: Thing[] = [];
    for (const each of set) {
      met.push(each);
      set.delete(other);
    }
    expect(met).toEqual([one]);
  });
});

/** So many are under way at a time, and so many come in all. */
const [atOnce, inAll] = [256, 16_000];

/** Something as large as a request: some 25 KB in small objects. */
function thing(name: string): Thing & { parts: object[] } {
  return { name, parts: Array.from({ length: 500 }, (_, part) => ({ part })) };
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')?.space_used_size ?? 0;
}

/**
 * Bytes by which the old generation has grown at most while so many came and went. It begins with a full collection,
 * which makes all that is there old.
 */
function growth(come: (number: number) => void, go: (number: number) => void): number {
  const pass = (from: number, to: number, look: () => void): void => {
    for (let number = from; number < to; number += 1) {
      come(number);
      if (number >= atOnce) go(number - atOnce);
      if (number % 100 === 0) look();
    }
  };
  pass(0, 2 * atOnce, () => undefined);
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const before = oldBytes();
  let most = 0;
  pass(2 * atOnce, inAll, () => {
    most = Math.max(most, oldBytes() - before);
  });
  return most;
}

describe('what has left', () => {
  beforeAll(keepAllocationsYoung);
  // What is under way at a time takes 7 MB. A `Map` and a `Set` let the old generation grow by 130.
  const limit = 40_000_000;

  it('does not grow old because it was in a map', () => {
    const map = new TransientMap<number, Thing>();
    const grown = growth(
      (number) => map.set(number, thing('one of many')),
      (number) => map.delete(number),
    );
    expect(grown).toBeLessThan(limit);
  });

  it('does not grow old because it was in a set', () => {
    const set = new TransientSet<Thing>();
    const inside: Thing[] = [];
    const grown = growth(
      (number) => {
        const one = thing('one of many');
        inside[number % (2 * atOnce)] = one;
        set.add(one);
      },
      (number) => {
        const one = inside[number % (2 * atOnce)];
        if (one) set.delete(one);
      },
    );
    expect(grown).toBeLessThan(limit);
  });
});
