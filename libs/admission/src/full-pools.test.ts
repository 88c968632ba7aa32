import { SluiceError } from '@sluice/canonical';
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { FullPools } from './full-pools.ts';

const refusal = new SluiceError('saturated', 'pool gpu is saturated');
let now = 0;
let pools: FullPools;
beforeEach(() => {
  now = 0;
  pools = new FullPools(() => now);
});

it('a pool that has refused nobody is asked', () => {
  expect(pools.refusal('gpu', 'acme', 1)).toBeUndefined();
  expect(pools.ask('gpu', 'acme', 1)).toBe('open');
});

it('after a refusal the next ones are refused with the same words, and other pools are asked', () => {
  pools.refused('gpu', 1, refusal);
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
  expect(pools.refusal('cpu', 'acme', 1)).toBeUndefined();
});

it('a smaller claim than the refused one is asked for', () => {
  pools.refused('gpu', 4, refusal);
  expect(pools.refusal('gpu', 'acme', 4)).toBe(refusal);
  expect(pools.refusal('gpu', 'acme', 3)).toBeUndefined();
  expect(pools.ask('gpu', 'acme', 3)).toBe('open');
  pools.refused('gpu', 2, refusal);
  pools.refused('gpu', 3, refusal);
  expect([pools.refusal('gpu', 'acme', 2), pools.refusal('gpu', 'acme', 1)]).toEqual([refusal, undefined]);
});

it('a larger claim does not change the words with which smaller ones are refused', () => {
  const larger = new SluiceError('saturated', 'no room for 4');
  pools.refused('gpu', 2, refusal);
  pools.refused('gpu', 4, larger);
  expect([pools.refusal('gpu', 'acme', 2), pools.refusal('gpu', 'acme', 4)]).toEqual([refusal, refusal]);
  const later = new SluiceError('saturated', 'pool gpu is saturated still');
  pools.refused('gpu', 2, later);
  expect(pools.refusal('gpu', 'acme', 2)).toBe(later);
});

it('every place that comes back is asked for once', () => {
  pools.refused('gpu', 1, refusal);
  pools.freed('gpu', 2);
  expect([pools.refusal('gpu', 'acme', 2), pools.refusal('gpu', 'acme', 3)]).toEqual([undefined, refusal]);
  expect([pools.ask('gpu', 'acme', 1), pools.ask('gpu', 'acme', 1)]).toEqual(['freed', 'freed']);
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
  pools.admitted('gpu', 'freed');
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
});

it('one request in ten milliseconds finds out whether the pool is still full', () => {
  pools.refused('gpu', 1, refusal);
  now = 9;
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
  now = 10;
  expect(pools.refusal('gpu', 'acme', 1)).toBeUndefined();
  expect(pools.ask('gpu', 'acme', 1)).toBe('probe');
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
  const later = new SluiceError('saturated', 'pool gpu is saturated still');
  pools.refused('gpu', 1, later);
  expect(pools.refusal('gpu', 'acme', 1)).toBe(later);
  pools.admitted('gpu', 'probe');
  expect(pools.refusal('gpu', 'acme', 1)).toBeUndefined();
});

it('a refusal of long ago keeps nobody of a burst out', () => {
  pools.refused('gpu', 1, refusal);
  pools.refused('gpu', 1, refusal, 'acme');
  now = 110;
  expect([pools.ask('gpu', 'acme', 1), pools.ask('gpu', 'acme', 1)]).toEqual(['open', 'open']);
  expect(pools.refusal('gpu', 'acme', 1)).toBeUndefined();
  // Full again: from here on all is as at the first refusal.
  pools.refused('gpu', 1, refusal);
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
});

it('a tenant that has had its share is refused with the same words, and others are asked for', () => {
  pools.refused('gpu', 1, refusal, 'acme');
  expect(pools.refusal('gpu', 'acme', 1)).toBe(refusal);
  expect([pools.refusal('gpu', 'other', 1), pools.ask('gpu', 'other', 1)]).toEqual([undefined, 'open']);
  pools.refused('gpu', 1, refusal);
  expect(pools.refusal('gpu', 'other', 1)).toBe(refusal);
  now = 10;
  expect(pools.ask('gpu', 'acme', 1)).toBe('probe');
  expect([pools.refusal('gpu', 'acme', 1), pools.refusal('gpu', 'other', 1)]).toEqual([refusal, refusal]);
  pools.freed('gpu', 1);
  expect(pools.ask('gpu', 'other', 1)).toBe('freed');
  pools.admitted('gpu', 'probe');
  expect(pools.refusal('gpu', 'acme', 1)).toBeUndefined();
});

it('a tenant that has had its share does not keep others from the places that a large claim left', () => {
  pools.refused('gpu', 4, refusal);
  pools.refused('gpu', 1, refusal, 'acme');
  expect([pools.refusal('gpu', 'acme', 1), pools.refusal('gpu', 'other', 1)]).toEqual([refusal, undefined]);
});

it('whatever happened, a pool is asked again after ten milliseconds at the latest', () => {
  const happening = fc.record({
    kind: fc.constantFrom('refused', 'share', 'freed', 'ask'),
    jobs: fc.integer({ min: 1, max: 8 }),
    afterMs: fc.integer({ min: 0, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(happening), fc.integer({ min: 1, max: 8 }), (happenings, jobs) => {
      const tried = new FullPools(() => now);
      for (const { kind, jobs: amount, afterMs } of happenings) {
        now += afterMs;
        if (kind === 'refused') tried.refused('gpu', amount, refusal);
        else if (kind === 'share') tried.refused('gpu', amount, refusal, 'acme');
        else if (kind === 'freed') tried.freed('gpu', amount);
        else if (!tried.refusal('gpu', 'acme', amount)) tried.ask('gpu', 'acme', amount);
      }
      now += 10;
      expect(tried.refusal('gpu', 'acme', jobs)).toBeUndefined();
    }),
  );
});
