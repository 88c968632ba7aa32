import { expect, it } from 'vitest';
import { heapBytesOf } from './job-room.ts';

it('counts whole bytes, since fractions do not cancel out when they are given back', () => {
  const jobs = Array.from({ length: 5_000 }, (_, index) => 'x'.repeat(index));
  expect(jobs.map(heapBytesOf).filter((bytes) => !Number.isInteger(bytes))).toEqual([]);
});

it('counts what is not Latin 1 twice, and values beside their characters', () => {
  const text = JSON.stringify(['x'.repeat(5_000)]);
  const wide = JSON.stringify(['—'.repeat(5_000)]);
  const values = JSON.stringify(Array.from({ length: 5_000 }, () => 1));
  expect(heapBytesOf(wide)).toBe(2 * heapBytesOf(text) - 200);
  expect(heapBytesOf(values)).toBeGreaterThan(40 * heapBytesOf(text));
});
