import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom, exponential } from '../random.ts';
import { LatencyHistogram } from './histogram.ts';

/** The value that the same share of sorted values does not exceed. */
function exact(sorted: number[], percentile: number): number {
  return sorted[Math.max(0, Math.ceil((percentile / 100) * sorted.length - 1e-9) - 1)] ?? 0;
}

describe('the latency histogram', () => {
  it('is within 0.1 % of the exact percentiles, whatever was recorded', () => {
    const value = fc.integer({ min: 1, max: 3_600_000_000 }).map((us) => us / 1000);
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 300 }), (values) => {
        const histogram = new LatencyHistogram();
        for (const ms of values) histogram.record(ms);
        const sorted = [...values].sort((a, b) => a - b);
        for (const percentile of [1, 50, 90, 99, 99.9, 100]) {
          const truth = exact(sorted, percentile);
          expect(Math.abs(histogram.percentile(percentile) - truth)).toBeLessThanOrEqual(
            truth * 0.001 + 1e-9,
          );
        }
      }),
    );
  });

  it('keeps the tail of an exponential', () => {
    const random = createRandom(2);
    const values = Array.from({ length: 100_000 }, () => 10 * exponential(random));
    const histogram = new LatencyHistogram();
    for (const ms of values) histogram.record(ms);
    const sorted = [...values].sort((a, b) => a - b);
    for (const percentile of [50, 99, 99.9, 99.99]) {
      expect(histogram.percentile(percentile) / exact(sorted, percentile)).toBeCloseTo(1, 2);
    }
    expect(histogram.summary.max / Math.max(...values)).toBeCloseTo(1, 2);
    expect(histogram.summary.mean).toBeCloseTo(10, 0);
  });

  it('survives being encoded, and two add up to what one would have seen', () => {
    const [first, second, both] = [new LatencyHistogram(), new LatencyHistogram(), new LatencyHistogram()];
    for (let ms = 1; ms <= 1000; ms++) {
      (ms % 3 === 0 ? first : second).record(ms);
      both.record(ms);
    }
    const sum = LatencyHistogram.decode(first.encode());
    sum.add(LatencyHistogram.decode(second.encode()));
    expect(sum.summary).toEqual(both.summary);
  });

  it('counts more equal values than a night of streams brings, also those of several processes', () => {
    const histogram = new LatencyHistogram();
    for (let hour = 0; hour < 3; hour++) histogram.recordMany(0, 2_000_000_000);
    histogram.record(20);
    const sum = LatencyHistogram.decode(histogram.encode());
    sum.add(histogram);
    expect(sum.summary).toMatchObject({ count: 12_000_000_002, percentiles: { p50: 0, 'p99.99': 0 } });
    expect(sum.summary.max).toBeCloseTo(20, 1);
    expect(LatencyHistogram.decode(sum.encode()).summary).toEqual(sum.summary);
  });

  it('an empty one reads as zero and travels', () => {
    const empty = LatencyHistogram.decode(new LatencyHistogram().encode());
    expect(empty.summary).toMatchObject({ count: 0, mean: 0, min: 0, max: 0 });
  });

  it('counts what is longer than an hour as an hour, and what is negative as nothing', () => {
    const histogram = new LatencyHistogram();
    histogram.record(1e12);
    histogram.record(-5);
    expect(histogram.summary.max / 3_600_000).toBeCloseTo(1, 2);
    expect(histogram.summary.min).toBe(0);
  });

  it('corrects a stall for the callers who would have come meanwhile', () => {
    // 99 answers of 1 ms, then a stall of 100 ms: a caller each millisecond would have met 100 slow answers.
    const measured = new LatencyHistogram();
    measured.recordMany(1, 99);
    measured.record(100);
    expect(measured.percentile(90)).toBeCloseTo(1, 2);
    const corrected = measured.corrected(1);
    expect(corrected.count).toBe(99 + 100);
    expect(corrected.percentile(75) / 51).toBeCloseTo(1, 1);
    expect(corrected.summary.max / 100).toBeCloseTo(1, 2);
  });
});
