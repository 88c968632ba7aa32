import { describe, expect, it } from 'vitest';
import { emptyMetrics } from '../measures/recorder.ts';
import { metricResult } from '../measures/result.ts';
import { figuresTable, latencyTable, loadErrorTable } from './tables.ts';
import { point, result } from './test-result.ts';

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

describe('the table of errors by load', () => {
  const searched = (name: string, errors: Record<string, number>) =>
    result(name, {
      search: { saturationRate: 0, points: [point(10, 10, 0), { ...point(50, 10, 0), errors }] },
    });

  it('has the loads that had errors, and wrong text first', () => {
    const html = loadErrorTable([searched('a', { timeout: 9, 'wrong text: gap': 2 })]);
    expect(html).toMatch(/>wrong text: gap<.*>timeout</);
    expect(html).toContain('<tbody><tr><th scope="row">at 50/s</th><td>2</td><td>9</td></tr></tbody>');
  });

  it('names the searches where there are several', () => {
    const html = loadErrorTable([searched('a', { timeout: 9 }), result('b'), searched('c', { '<i>': 1 })]);
    expect(html).toMatch(/>a<\/th><\/tr>.*<td>9<\/td><td>0<\/td>.*>c<\/th><\/tr>.*<td>0<\/td><td>1<\/td>/);
    expect(html).toContain('&lt;i&gt;');
  });

  it('is not there where no load had any, or the result is of a version that did not keep them', () => {
    const search = { saturationRate: 0, points: [{ ...point(50, 10, 0), failedRate: 3 }] };
    expect(loadErrorTable([searched('a', {}), result('old', { search })])).toBe('');
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
