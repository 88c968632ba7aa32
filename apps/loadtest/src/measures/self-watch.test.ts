import { describe, expect, it } from 'vitest';
import { latenessP99Ms } from './self-watch.ts';

describe('how late the event loop was at the 99th percentile', () => {
  it.each([
    ['what the monitor says of many small delays', [35, 60, 10_000], 25],
    ['nothing, if it was never late', [10, 10.5, 10_000], 0],
    ['a stall of a tenth of the time, though it is one sample of 900', [10.2, 1010, 10_000], 900],
    ['no stall that is shorter than a hundredth of the time', [10.2, 90, 10_000], 0.2],
  ] as const)('is %s', (_, [sampledMs, longestMs, elapsedMs], lateMs) => {
    expect(latenessP99Ms(sampledMs, longestMs, elapsedMs)).toBeCloseTo(lateMs);
  });
});
