import { describe, expect, it } from 'vitest';
import { TurnBatch } from './turn-batch.ts';

describe('a batch of a turn', () => {
  it('asks once for what a turn brings, and once more for what comes later', async () => {
    const asked: (readonly string[])[] = [];
    const batch = new TurnBatch<string, string>(async (items) => {
      asked.push(items);
      return items.map((item) => item.toUpperCase());
    });
    expect(await Promise.all([batch.add('a'), batch.add('b')])).toEqual(['A', 'B']);
    expect(await batch.add('c')).toBe('C');
    expect(asked).toEqual([['a', 'b'], ['c']]);
  });

  it('does not wait for the end of the turn if it is full', async () => {
    const asked: number[] = [];
    const batch = new TurnBatch<number, number>(async (items) => {
      asked.push(items.length);
      return items;
    });
    const replies = Promise.all(Array.from({ length: 100 }, (_, item) => batch.add(item)));
    expect(asked).toEqual([64]);
    expect(await replies).toHaveLength(100);
    expect(asked).toEqual([64, 36]);
  });

  it('rejects every item if it fails, and an item without a reply', async () => {
    const failing = new TurnBatch<number, number>(() => Promise.reject(new Error('away')));
    expect(await Promise.allSettled([failing.add(1), failing.add(2)])).toMatchObject([
      { reason: { message: 'away' } },
      { reason: { message: 'away' } },
    ]);
    const short = new TurnBatch<number, number>(async ([first = 0]) => [first]);
    const [one, two] = await Promise.allSettled([short.add(1), short.add(2)]);
    expect(one).toMatchObject({ value: 1 });
    expect(two).toMatchObject({ reason: { message: 'a batch came back with too few answers' } });
  });
});
