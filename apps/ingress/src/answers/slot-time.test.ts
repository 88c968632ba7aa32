import { expect, it } from 'vitest';
import { SlotTime } from './slot-time.ts';

it('the time of a slot is the mean of the generations that ran to their end, each counted once', () => {
  const slots = new SlotTime(2);
  expect([slots.hasBegun, slots.meanMs]).toEqual([false, undefined]);
  slots.ended(0, 5);
  slots.began(0, 100);
  slots.began(1, 200);
  expect([slots.hasBegun, slots.meanMs]).toEqual([true, undefined]);
  slots.ended(0, 400);
  slots.ended(0, 9_000);
  expect(slots.meanMs).toBe(300);
  slots.ended(1, 300);
  expect(slots.meanMs).toBe(200);
});

it('another attempt at a generation counts from its own beginning', () => {
  const slots = new SlotTime(2);
  slots.began(0, 100);
  slots.began(0, 1_000);
  slots.ended(0, 1_050);
  expect(slots.meanMs).toBe(50);
});

it('where none ran to its end, it is known how long those that failed or were left had their slots', () => {
  const slots = new SlotTime(3);
  expect(slots.times(50)).toEqual({});
  slots.began(0, 100);
  slots.began(1, 200);
  slots.failed(0, 'upstream-failed');
  expect(slots.times(1_000)).toEqual({ heldMs: 850 });
  slots.ended(1, 600);
  expect(slots.times(1_000)).toEqual({ durationMs: 400 });
});

it('a generation that was lost may have had no slot for long', () => {
  const slots = new SlotTime(1);
  slots.began(0, 100);
  slots.failed(0, 'unavailable');
  expect(slots.times(60_000)).toEqual({});
});
