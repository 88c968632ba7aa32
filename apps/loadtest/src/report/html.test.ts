import { describe, expect, it } from 'vitest';
import { emptyMetrics, emptyTotals } from '../recorder.ts';
import { metricResult, type RunResult } from '../result.ts';
import { parseScenario } from '../scenario.ts';
import { summarizeRun } from '../summary.ts';
import { renderCsv } from './csv.ts';
import { renderHtml } from './html.ts';

function result(name: string, changes: Partial<RunResult> = {}): RunResult {
  const metrics = emptyMetrics();
  for (let ms = 1; ms <= 200; ms++)
    for (const metric of ['ttft', 'endToEnd'] as const) metrics[metric].record(ms);
  const entries = Object.entries(metrics).map(([key, histogram]) => [key, metricResult(histogram)]);
  const second = { ...emptyTotals(), isMeasured: true, inFlight: 1, offered: 20, ok: 20, good: 19 };
  return {
    version: 1,
    name,
    startedAt: '2026-11-21T09:00:00.000Z',
    scenario: { ...parseScenario({}), keys: 2 },
    measuredMs: 10_000,
    totals: { ...emptyTotals(), offered: 200, ok: 200, good: 190, tokens: 2000 },
    rates: { offered: 20, ok: 20, good: 19, refused: 0, failed: 0, tokens: 200 },
    attainment: 0.95,
    meetsSlo: false,
    metrics: Object.fromEntries(entries),
    correction: { by: 'intended-instant' },
    errors: {},
    intervals: [0, 1, 2].map((at) => ({ ...second, second: at, ttftP50: 10, ttftP99: 20 + at })),
    client: {
      processes: [{ cpuShare: 0.2, loopShare: 0.2, loopDelayP99Ms: 1, machineShare: 0.4 }],
      connectionsOpened: 3,
      requestsRepeated: 0,
      isBottleneck: false,
      findings: [],
    },
    ...changes,
  };
}

const point = (rate: number, goodRate: number, refusedRate: number) => ({
  phase: 'search' as const,
  offeredRate: rate,
  okRate: goodRate,
  goodRate,
  refusedRate,
  failedRate: 0,
  attainment: goodRate / rate,
  meetsSlo: refusedRate === 0,
  ttftP50: 10,
  ttftP99: 100,
  endToEndP50: 20,
  endToEndP99: 200,
  isClientBottleneck: false,
});

const searched = result('searched', {
  search: { saturationRate: 100, points: [point(50, 50, 0), point(100, 100, 0), point(200, 110, 90)] },
});

describe('the HTML report', () => {
  it('loads nothing from anywhere', () => {
    const html = renderHtml([result('a'), searched]);
    expect(html).not.toMatch(/(?:src|href)=|@import|url\(|<link|https?:\/\/(?!127\.0\.0\.1)/);
  });

  it('draws every place of every chart at a finite number', () => {
    const html = renderHtml([result('a'), searched, result('empty', { intervals: [], metrics: emptyRun() })]);
    expect(html).not.toMatch(/NaN|Infinity|undefined/);
    expect(html.match(/<figure>/g)?.length).toBeGreaterThanOrEqual(8);
  });

  it('shows the runs side by side with differences from the first', () => {
    const faster = result('faster', { rates: { ...result('x').rates, ok: 40 } });
    const html = renderHtml([result('slower'), faster]);
    expect(html).toContain('+100 %');
    expect(html).toContain('>slower</th>');
    expect(html).toContain('>faster</th>');
  });

  it('names the axes with their units and marks the found rate', () => {
    const html = renderHtml([searched]);
    expect(html).toContain('offered load (requests per second)');
    expect(html).toContain('percentile (%)');
    expect(html).toContain('time (s)');
    expect(html).toContain('objective met to 100/s');
  });

  it('says it when the client was the bottleneck', () => {
    const client = { ...result('x').client, isBottleneck: true, findings: ['event loop busy'] };
    expect(renderHtml([result('a', { client })])).toContain('the client was itself the bottleneck');
    expect(summarizeRun(result('a', { client }))).toContain('THE CLIENT WAS ITSELF THE BOTTLENECK');
  });

  it('shows what was measured in a closed loop, and the estimate under its own name', () => {
    const metrics = emptyMetrics();
    metrics.endToEnd.recordMany(7_000, 3);
    const estimate = { ttft: metricResult(metrics.ttft), endToEnd: metricResult(metrics.endToEnd) };
    const correction = { by: 'expected-interval' as const, intervalMs: 50, estimate };
    const html = renderHtml([result('a', { correction })]);
    expect(html).toMatch(
      /End to end<\/th><td>100 ms<[\s\S]*Estimate for independent callers<\/th><td>7.00 s</,
    );
    const text = summarizeRun(result('a', { correction }));
    expect(text).toMatch(/end to end +100 ms.*\n {2}estimate, see below +7.00 s/);
    expect(text).toContain('expected interval of 50.0 ms');
  });

  it('lets no name become markup', () => {
    const html = renderHtml([result('<script>alert("1")</script>', { errors: { '<b>': 1 } })]);
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('<b>:');
    expect(html).toContain('&lt;b&gt;');
  });
});

describe('the CSV report', () => {
  it('has a row per figure and quotes names', () => {
    const lines = renderCsv([result('a, "b"'), searched])
      .trim()
      .split('\n');
    expect(lines[0]).toBe('run,metric,statistic,unit,value');
    expect(lines).toContain('"a, ""b""",ok,rate,1/s,20');
    expect(lines.some((line) => line.startsWith('searched,ttft,p99,ms,'))).toBe(true);
    expect(lines).toContain('searched,at 200.00/s,refused,1/s,90');
  });
});

function emptyRun(): RunResult['metrics'] {
  const entries = Object.entries(emptyMetrics()).map(([key, histogram]) => [key, metricResult(histogram)]);
  return Object.fromEntries(entries);
}
