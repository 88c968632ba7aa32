import { expect, it } from 'vitest';
import { heapBytesOf, JobRoom } from './job-room.ts';

it('is empty again once every job has given back what it took', () => {
  const room = new JobRoom(Number.POSITIVE_INFINITY);
  const jobs = Array.from({ length: 4_000 }, (_, index) => 'x'.repeat(1 + index));
  for (const job of jobs) room.take(heapBytesOf(job));
  for (const job of jobs) room.give(heapBytesOf(job));
  expect(room.takenBytes).toBe(0);
});

it('counts what is not Latin 1 twice, and values beside their characters', () => {
  const text = JSON.stringify(['x'.repeat(5_000)]);
  const wide = JSON.stringify(['—'.repeat(5_000)]);
  const values = JSON.stringify(Array.from({ length: 5_000 }, () => 1));
  expect(heapBytesOf(wide)).toBe(2 * heapBytesOf(text) - 200);
  expect(heapBytesOf(values)).toBeGreaterThan(40 * heapBytesOf(text));
});
