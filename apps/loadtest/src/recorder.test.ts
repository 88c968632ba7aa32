import { describe, expect, it } from 'vitest';
import { type Finished, Recorder } from './recorder.ts';
import { Throughput } from './throughput.ts';

const finished = (changes: Partial<Finished> = {}): Finished => ({
  intendedAt: 1000,
  readyAt: 1000,
  sentAt: 1001,
  firstAt: 1100,
  lastAt: 1200,
  endedAt: 1200,
  tokens: 5,
  queueWaitMs: undefined,
  isSlow: false,
  isMeasured: true,
  ...changes,
});

describe('what is recorded of a request', () => {
  it('is no delay of the client while its user waited for the answer before', () => {
    const recorder = new Recorder({ attainment: 0.99 }, new Throughput(0, Infinity));
    recorder.finished(finished({ intendedAt: 500, readyAt: 1000 }), { kind: 'ok' });
    expect(recorder.metrics.sendDelay.percentile(100)).toBeCloseTo(1, 2);
    expect(recorder.metrics.endToEnd.percentile(100)).toBeCloseTo(700, 0);
  });
});
