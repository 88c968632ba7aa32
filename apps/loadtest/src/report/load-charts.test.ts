import { describe, expect, it } from 'vitest';
import type { RunResult } from '../measures/result.ts';
import { loadCharts } from './load-charts.ts';
import { emptyRun, point, result } from './test-result.ts';

function at(rate: number, model: string, changes: Partial<RunResult> = {}): RunResult {
  const run = result(`${model} ${rate}`, changes);
  const load = {
    kind: 'open' as const,
    spacing: 'constant' as const,
    profile: { kind: 'constant' as const, rate },
  };
  const traffic = run.scenario.traffic.map((entry) => ({ ...entry, model }));
  return {
    ...run,
    scenario: { ...run.scenario, load, traffic },
    rates: { ...run.rates, offered: rate },
  };
}

const lines = (runs: readonly RunResult[], chart = 0) =>
  (loadCharts(runs)[chart]?.series ?? []).map(({ name, color, points }) => ({
    name,
    color,
    rates: points.map(([rate]) => rate),
  }));

describe('latency over load', () => {
  it('joins the loads of one system, not those of two', () => {
    const runs = [at(10, 'direct'), at(10, 'gateway'), at(40, 'gateway'), at(20, 'direct'), at(40, 'direct')];
    expect(lines(runs)).toEqual([
      { name: 'direct p50', color: 1, rates: [10, 20, 40] },
      { name: 'direct p99', color: 1, rates: [10, 20, 40] },
      { name: 'gateway p50', color: 2, rates: [10, 40] },
      { name: 'gateway p99', color: 2, rates: [10, 40] },
    ]);
  });

  it('keeps runs of one system at equal loads apart', () => {
    const before = [at(10, 'm'), at(20, 'm')];
    const after = before.map((run) => ({ ...run, name: `${run.name} after` }));
    expect(lines([...before, ...after]).filter(({ name }) => name.endsWith('p50'))).toEqual([
      { name: 'm 10 p50', color: 1, rates: [10] },
      { name: 'm 20 p50', color: 2, rates: [20] },
      { name: 'm 10 after p50', color: 3, rates: [10] },
      { name: 'm 20 after p50', color: 4, rates: [20] },
    ]);
  });

  it('is not drawn for a single load', () => {
    expect(loadCharts([at(10, 'a')])).toEqual([]);
    expect(loadCharts([at(10, 'a'), at(10, 'b')])).toEqual([]);
  });

  it('leaves out runs that have no answer to measure', () => {
    const runs = [at(10, 'm'), at(20, 'm'), at(40, 'm', { metrics: emptyRun() })];
    expect(lines(runs)[0]?.rates).toEqual([10, 20]);
  });

  it('gives first tokens and whole answers a chart each', () => {
    const single = { ...result('x').metrics, ttft: emptyRun().ttft };
    const charts = loadCharts([at(10, 'm'), at(20, 'm'), at(40, 'm', { metrics: single })]);
    expect(charts.map(({ title }) => title)).toEqual([
      'Time to first token over load',
      'End to end over load',
    ]);
    expect(charts.map(({ series }) => series[0]?.points.length)).toEqual([2, 3]);
  });

  it('shows whole answers alone for a search of single bodies', () => {
    const { ttftP50: _p50, ttftP99: _p99, ...single } = point(50, 50, 0);
    const points = [single, { ...single, offeredRate: 100 }];
    const charts = loadCharts([result('searched', { search: { saturationRate: 100, points } })]);
    expect(charts.map(({ title }) => title)).toEqual(['End to end over load']);
  });
});
