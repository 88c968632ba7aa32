import { describe, expect, it } from 'vitest';
import { emptyMetrics } from '../measures/recorder.ts';
import { metricResult } from '../measures/result.ts';
import { figuresTable, latencyTable } from './tables.ts';
import { result } from './test-result.ts';

describe('the table of figures', () => {
  it('counts those who left, those who read slowly and what was sent again, where there were any', () => {
    const plain = result('plain');
    expect(figuresTable([plain])).not.toMatch(/left by the client|slow readers|requests repeated/);
    const totals = { ...plain.totals, aborted: 7, slow: 3 };
    const client = { ...plain.client, requestsRepeated: 2 };
    const html = figuresTable([plain, result('other', { totals, client })]);
    expect(html).toContain('left by the client</th><td>0</td><td>7</td>');
    expect(html).toContain('slow readers</th><td>0</td><td>3</td>');
    expect(html).toContain('requests repeated</th><td>0</td><td>2</td>');
  });
});

describe('the table of latencies', () => {
  const histograms = emptyMetrics();
  histograms.refusal.record(3);
  histograms.ttftFromSend.record(5);
  const metrics = {
    ...result('x').metrics,
    refusal: metricResult(histograms.refusal),
    ttftFromSend: metricResult(histograms.ttftFromSend),
  };

  it('has the time to a 429, and latencies as counted from the send', () => {
    const html = latencyTable([result('a', { metrics }), result('b', { metrics })]);
    expect(html).toContain('>Time to a 429</th>');
    expect(html).toContain('>Time to first token, counted from the send</th>');
  });
});
