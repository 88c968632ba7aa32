import { describe, expect, it } from 'vitest';
import { emptyMetrics } from '../measures/recorder.ts';
import { metricResult } from '../measures/result.ts';
import { summarizeRun } from '../measures/summary.ts';
import { renderCsv } from './csv.ts';
import { renderHtml } from './html.ts';
import { emptyRun, point, result } from './test-result.ts';

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

  it('leaves charts a size at which they can be read, and rows their names', () => {
    const html = renderHtml([result('a')]);
    // One chart must not fill a page, nor its text shrink with it; a long name must not push all figures away.
    expect(html).toContain('repeat(auto-fill,');
    expect(html).toContain('@container (max-width: 340px) { figure > svg text');
    expect(html).toMatch(/th:first-child {[^}]*position: sticky/);
    expect(html).toMatch(/thead th, tbody th {[^}]*white-space: normal/);
  });

  it('breaks names that nothing else breaks, wherever they stand in text', () => {
    const places = /(?:^|\n)(.+) { overflow-wrap: anywhere; }/
      .exec(renderHtml([result('a')]))?.[1]
      ?.split(', ');
    expect(places).toEqual(expect.arrayContaining(['h1', 'p', '.warning', 'summary', '.runs li', '.legend']));
  });

  it('can be read by the keyboard: its charts, and tables that are wider than the page', () => {
    const html = renderHtml([searched, result('b', { errors: { timeout: 1 } })]);
    const charts = html.match(/<figure>/g)?.length ?? 0;
    expect(html.match(/role="img" tabindex="0" aria-label="[^"]+: arrow keys read it out"/g)).toHaveLength(
      charts,
    );
    expect(html.match(/<div class="table" role="region" tabindex="0" aria-label="[^"]+"/g)).toHaveLength(3);
    expect(html).not.toMatch(/<th[^>]*><\/th>|<th>|<th colspan/);
  });

  it('judges nothing where nobody was asked', () => {
    const totals = { ...result('x').totals, offered: 0, ok: 0, asked: 0, good: 0 };
    const empty = result('empty', { totals, attainment: 0, intervals: [], metrics: emptyRun() });
    const html = renderHtml([empty]);
    expect(html).toContain('<b>asked of nobody</b>');
    expect(html).not.toContain('good share');
    expect(html).not.toContain('<h2>Latency</h2>');
    expect(renderHtml([result('a')])).toContain('<b class="bad">missed</b>');
    expect(renderHtml([result('a', { meetsSlo: true })])).toContain('<b class="good">met</b>');
    const fallsBehind = { firstHalfMs: 700, secondHalfMs: 1800 };
    const behind = renderHtml([result('a', { meetsSlo: true, fallsBehind })]);
    expect(behind).toContain('met for as long as it lasted, but the server fell behind');
    expect(behind).not.toContain('class="good"');
    expect(summarizeRun(empty)).toMatch(/good +\S+ +success for 99 %/);
    expect(summarizeRun(result('a'))).toContain('95.00 %: success for 99 %');
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

  it('speaks of no estimate where there is none', () => {
    const closed = result('a', { correction: { by: 'expected-interval', intervalMs: 0 } });
    expect(renderHtml([closed])).not.toContain('expected interval');
    expect(summarizeRun(closed)).not.toContain('expected interval');
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
    expect(lines).toContain('searched,saturation,rate,1/s,100');
    expect(lines).toContain('searched,client is bottleneck,flag,,0');
    expect(lines).toContain('searched,requests repeated,count,,0');
  });

  it('tells all rates and latencies of a search, and no latency that was not measured', () => {
    const { ttftP50: _p50, ttftP99: _p99, ...single } = point(200, 110, 60);
    const search = { saturationRate: 100, points: [{ ...single, okRate: 120, failedRate: 20 }] };
    const csv = renderCsv([result('single', { search })]);
    for (const figure of ['ok,1/s,120', 'good,1/s,110', 'refused,1/s,60', 'failed,1/s,20'])
      expect(csv).toContain(`single,at 200.00/s,${figure}\n`);
    expect(csv).toContain('single,at 200.00/s,end to end p99,ms,200\n');
    expect(csv).not.toMatch(/at 200.00\/s,ttft/);
    expect(csv).not.toContain('falls behind');
  });

  it('tells apart loads of a search that were offered at the same rate', () => {
    const search = { saturationRate: 100, points: [point(100, 90, 0), point(100, 70, 0), point(110, 60, 0)] };
    const csv = renderCsv([result('a', { search })]);
    for (const figure of ['at 100.00/s,good,1/s,90', 'at 100.00/s #2,good,1/s,70', 'at 110.00/s,good,1/s,60'])
      expect(csv).toContain(`a,${figure}\n`);
  });

  it('tells of loads that a server did not keep up with', () => {
    const doubtful = { ...point(200, 200, 0), fallsBehind: true as const, isClientBottleneck: true };
    const search = { saturationRate: 100, points: [doubtful] };
    const csv = renderCsv([result('a', { search, fallsBehind: { firstHalfMs: 700, secondHalfMs: 1800 } })]);
    expect(csv).toContain('a,falls behind,second half,ms,1800\n');
    expect(csv).toContain('a,at 200.00/s,falls behind,,1\n');
    expect(csv).toContain('a,at 200.00/s,client is bottleneck,,1\n');
  });
});
