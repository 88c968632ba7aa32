import { beforeEach, expect, it } from 'vitest';
import type { Settlement } from './ledger.ts';
import { Unsettled } from './unsettled.ts';

const lost = new Error('Redis is away');
let away: Set<string>;
let asked: string[];
let taken: string[];
let unsettled: Unsettled;
beforeEach(() => {
  [away, asked, taken] = [new Set(), [], []];
  unsettled = new Unsettled({
    async settle({ requestId, books }: Settlement) {
      const what = `${books} ${requestId}`;
      asked.push(what);
      if (books.some((book) => away.has(book))) throw lost;
      taken.push(what);
      return true;
    },
  });
});

/** Settles requests `0` to `count - 1`, whose names begin with that of their book. */
const settleMany = (book: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      unsettled.settle({ requestId: `${book}${index}`, books: [book] }),
    ),
  );

it('keeps each part of each request that Redis does not take, until it does', async () => {
  away.add('gpu').add('acme');
  await unsettled.settle({ requestId: 'a', books: ['gpu'] });
  await unsettled.settle({ requestId: 'a', books: ['acme'] });
  await unsettled.settle({ requestId: 'b', books: ['acme', 'gpu'] });
  await unsettled.settle({ requestId: 'c', books: ['other'] });
  expect([unsettled.count, taken]).toEqual([3, ['other c']]);
  away.delete('acme');
  await unsettled.repeat();
  expect([unsettled.count, taken]).toEqual([2, ['other c', 'acme a']]);
  away.clear();
  await unsettled.repeat();
  expect([unsettled.count, taken]).toEqual([0, ['other c', 'acme a', 'gpu a', 'acme,gpu b']]);
  await unsettled.repeat();
  expect(taken.length).toBe(4);
});

it('repeats all that it keeps once Redis is back, however much that is', async () => {
  away.add('gpu');
  await settleMany('gpu', 450);
  away.clear();
  await unsettled.repeat();
  expect([unsettled.count, new Set(taken).size, taken.length]).toEqual([0, 450, 450]);
});

it('does not try all of it while Redis is away, and those that it tried come last the next time', async () => {
  away.add('gpu').add('cpu');
  await settleMany('gpu', 250);
  await settleMany('cpu', 3);
  asked = [];
  await unsettled.repeat();
  expect([asked.length, asked[0], asked.at(-1)]).toEqual([200, 'gpu gpu0', 'gpu gpu199']);
  asked = [];
  away.delete('cpu');
  await unsettled.repeat();
  expect([asked[0], taken]).toEqual(['gpu gpu200', ['cpu cpu0', 'cpu cpu1', 'cpu cpu2']]);
  expect(unsettled.count).toBe(250);
});

it('keeps the last 100,000, so that a long outage does not fill its memory', async () => {
  away.add('gpu');
  await settleMany('gpu', 100_001);
  expect(unsettled.count).toBe(100_000);
  asked = [];
  await unsettled.repeat();
  expect(asked[0]).toBe('gpu gpu1');
});
