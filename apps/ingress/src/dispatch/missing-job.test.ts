import { expect, test } from 'vitest';
import { MissingJob } from './missing-job.ts';

const beats = (counts: Record<string, number>): ReadonlyMap<string, number> =>
  new Map(Object.entries(counts));

test('a job that one look has missed may be on its way', () => {
  expect(new MissingJob().miss(0, beats({}))).toBe(false);
});

test('a job is lost when two looks have missed it and no living worker could have it', () => {
  const job = new MissingJob();
  job.miss(0, beats({}));
  expect(job.miss(1_000, beats({}))).toBe(true);
});

test('a job is lost when every worker has given two signs of life since the first look, and not before', () => {
  const job = new MissingJob();
  job.miss(0, beats({ a: 7, b: 3 }));
  expect(job.miss(1_000, beats({ a: 9, b: 4 }))).toBe(false);
  expect(job.miss(2_000, beats({ a: 11, b: 4 }))).toBe(false);
  expect(job.miss(3_000, beats({ a: 13, b: 5 }))).toBe(true);
});

test('a worker that is lost is not waited for', () => {
  const job = new MissingJob();
  job.miss(0, beats({ a: 7, b: 3 }));
  expect(job.miss(1_000, beats({ a: 9 }))).toBe(true);
});

test('a worker that has only just appeared may have it, too', () => {
  const job = new MissingJob();
  job.miss(0, beats({ a: 7 }));
  expect(job.miss(1_000, beats({ a: 9, b: 1 }))).toBe(false);
  expect(job.miss(2_000, beats({ a: 11, b: 2 }))).toBe(true);
});

test('a job that was seen waiting in between is counted anew', () => {
  const job = new MissingJob();
  job.miss(0, beats({ a: 1 }));
  job.reset();
  expect(job.miss(1_000, beats({ a: 3 }))).toBe(false);
  expect(job.miss(2_000, beats({ a: 4 }))).toBe(false);
  expect(job.miss(3_000, beats({ a: 5 }))).toBe(true);
});

test('a worker whose signs of life go astray does not keep a job for ever', () => {
  const job = new MissingJob();
  for (let at = 0; at < 6_000; at += 1_000) expect(job.miss(at, beats({ a: 7 }))).toBe(false);
  expect(job.miss(6_000, beats({ a: 7 }))).toBe(true);
});

test('the counts of a look are those of its time, even if they change later', () => {
  const job = new MissingJob();
  const counts = new Map([['a', 7]]);
  job.miss(0, counts);
  counts.set('a', 9);
  expect(job.miss(1_000, counts)).toBe(true);
});
