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
  isStream: true,
  isSlow: false,
  isLeaver: false,
  isMeasured: true,
  ...changes,
});

const recording = (slo = {}) => new Recorder({ attainment: 0.99, ...slo }, new Throughput(0, Infinity));
const none = { firstAt: 0, lastAt: 0, tokens: 0 };

describe('what is recorded of a request', () => {
  it.each([
    ['a stream without content misses a bound of the first token', { ttftMs: 500 }, none, 0],
    ['and one of the tokens', { tpotMs: 500 }, none, 0],
    ['and none that it can meet', { endToEndMs: 500 }, none, 1],
    ['a single body has no first token', { ttftMs: 500 }, { ...none, isStream: false }, 1],
    ['one token has no time per token', { tpotMs: 1 }, { tokens: 1, lastAt: 1100 }, 1],
  ])('is good or not: %s', (_, slo, changes, good) => {
    const recorder = recording(slo);
    recorder.finished(finished(changes), { kind: 'ok' });
    expect(recorder.totals).toMatchObject({ ok: 1, good, asked: 1 });
  });

  it('counts streams that ended well without any content', () => {
    const recorder = recording();
    recorder.finished(finished(none), { kind: 'ok' });
    recorder.finished(finished({ ...none, isStream: false }), { kind: 'ok' });
    recorder.finished(finished(none), { kind: 'failed', errorClass: 'cut stream' });
    recorder.finished(finished(), { kind: 'ok' });
    expect(recorder.emptyStreams).toBe(1);
  });

  it.each([{ kind: 'ok' }, { kind: 'failed', errorClass: 'http 503' }, { kind: 'aborted' }] as const)(
    'asks a slow reader for nothing, however he ends: $kind',
    (outcome) => {
      const recorder = recording();
      recorder.arrived(true, true);
      recorder.finished(finished({ isSlow: true }), outcome);
      expect(recorder.totals).toMatchObject({ offered: 1, slow: 1, asked: 0, good: 0, [outcome.kind]: 1 });
      expect(recorder.metrics.endToEnd.count).toBe(0);
    },
  );

  it.each([
    { kind: 'ok' },
    { kind: 'refused', errorClass: 'http 429' },
    { kind: 'failed', errorClass: 'http 503' },
    { kind: 'aborted' },
  ] as const)(
    'asks nothing of a client that is to leave, nor by an answer that was quicker: $kind',
    (outcome) => {
      const recorder = recording();
      recorder.arrived(false, true);
      recorder.finished(finished({ isLeaver: true }), outcome);
      expect(recorder.totals).toMatchObject({ offered: 1, slow: 0, asked: 0, good: 0, [outcome.kind]: 1 });
      expect(recorder.metrics.endToEnd.count + recorder.metrics.ttft.count).toBe(0);
      expect(recorder.takeInterval(0, true)).toMatchObject({ offered: 1, asked: 0, good: 0 });
    },
  );

  it('names wrong text, however many other errors there are', () => {
    const recorder = recording();
    for (let at = 0; at < 60; at++)
      recorder.finished(finished(), { kind: 'failed', errorClass: `http 500 trace-${at}` });
    recorder.finished(finished(), { kind: 'failed', errorClass: 'wrong text: gap' });
    expect(recorder.errors.get('other')).toBe(10);
    expect(recorder.errors.get('wrong text: gap')).toBe(1);
  });

  it('keeps wrong text of the warm-up apart from what was measured, and no other error of it', () => {
    const recorder = recording();
    for (const errorClass of ['wrong text: gap', 'timeout'])
      recorder.finished(finished({ isMeasured: false }), { kind: 'failed', errorClass });
    expect([...recorder.warmupWrongText]).toEqual([['wrong text: gap', 1]]);
    expect(recorder.errors.size).toBe(0);
  });

  it('is no delay of the client while its user waited for the answer before', () => {
    const recorder = recording();
    recorder.finished(finished({ intendedAt: 500, readyAt: 1000 }), { kind: 'ok' });
    expect(recorder.metrics.sendDelay.percentile(100)).toBeCloseTo(1, 2);
    expect(recorder.metrics.endToEnd.percentile(100)).toBeCloseTo(700, 0);
  });
});
