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
