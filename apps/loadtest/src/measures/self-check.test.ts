import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from './histogram.ts';
import { checkSelf } from './self-check.ts';

const calm = { cpuShare: 0.3, loopShare: 0.3, loopDelayP99Ms: 1, machineShare: 0.5 };

function filled(ms: number): LatencyHistogram {
  const histogram = new LatencyHistogram();
  histogram.recordMany(ms, 1000);
  return histogram;
}

const ttftFromSend = new LatencyHistogram();

const check = (load: Partial<typeof calm>, sendDelayMs = 0.1, endToEndMs = 100, ttft = ttftFromSend) =>
  checkSelf({
    processes: [calm, { ...calm, ...load }],
    sendDelay: filled(sendDelayMs),
    ttftFromSend: ttft,
    endToEndFromSend: filled(endToEndMs),
    errors: { 'http 503': 7 },
  });

describe('the client about itself', () => {
  it('has nothing to say of a calm run', () => {
    expect(check({})).toEqual({ isBottleneck: false, findings: [] });
  });

  it.each([
    [{ loopShare: 0.97 }, /process 2 of 2: event loop busy 97 %/],
    [{ cpuShare: 0.99 }, /used 99 % of a core/],
    [{ loopDelayP99Ms: 45 }, /event loop late by 45.0 ms/],
  ])('names a busy process: %j', (load, finding) => {
    const { isBottleneck, findings } = check(load);
    expect(isBottleneck).toBe(true);
    expect(findings.join()).toMatch(finding);
  });

  it('names late requests, by the measure of what they wait for', () => {
    expect(check({}, 20, 100).isBottleneck).toBe(true);
    expect(check({}, 20, 1000).isBottleneck).toBe(false);
    // A stream waits for its first token.
    expect(check({}, 20, 1000, filled(50)).isBottleneck).toBe(true);
  });

  it('does not take the first request of a few for a percentile', () => {
    const sendDelay = new LatencyHistogram();
    sendDelay.recordMany(0.1, 8);
    sendDelay.record(20);
    const facts = { processes: [calm], sendDelay, ttftFromSend, endToEndFromSend: filled(100), errors: {} };
    expect(checkSelf(facts).isBottleneck).toBe(false);
    sendDelay.recordMany(20, 8);
    expect(checkSelf(facts).findings).toEqual([expect.stringMatching(/after their instant at the median/)]);
  });

  it('names its own connections where requests waited for one', () => {
    const facts = {
      processes: [calm],
      sendDelay: filled(20),
      ttftFromSend,
      endToEndFromSend: filled(100),
      errors: {},
    };
    const connections = { maximum: 8, waited: 990 };
    expect(checkSelf({ ...facts, connections })).toEqual({
      isBottleneck: true,
      findings: ['990 requests waited for one of the 8 connections of a process (--connections)'],
    });
    // Short waits are no news.
    const prompt = { ...facts, sendDelay: filled(0.1), connections };
    expect(checkSelf(prompt).findings).toEqual([]);
  });

  it('names what the system had no more of', () => {
    const delays = { sendDelay: filled(0.1), ttftFromSend, endToEndFromSend: filled(100) };
    const errors = { 'connection: connect EMFILE': 12, 'connection: reset': 3 };
    const { isBottleneck, findings } = checkSelf({ processes: [calm], ...delays, errors });
    expect(isBottleneck).toBe(true);
    expect(findings).toEqual([
      '12 connections were not opened: a process may open no more files (ulimit -n)',
    ]);
  });

  it('mentions a full machine without blaming the client', () => {
    expect(check({ machineShare: 0.99 })).toMatchObject({
      isBottleneck: false,
      findings: [expect.any(String)],
    });
  });
});
