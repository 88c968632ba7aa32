import { describe, expect, it } from 'vitest';
import { goodputCharts } from './goodput-charts.ts';
import { point, result } from './test-result.ts';

const searched = (name: string, rates: number[], failedRate = 0) =>
  result(name, {
    search: {
      saturationRate: rates[0] ?? 0,
      points: rates.map((rate) => ({ ...point(rate, rate, 0), failedRate })),
    },
  });
const names = (runs: Parameters<typeof goodputCharts>[0]) =>
  goodputCharts(runs).map(({ series }) => series.map(({ name }) => name));

describe('goodput over load', () => {
  it('is one chart for all searches, so that they have the same axes', () => {
    const runs = [searched('a', [50, 100]), result('no search'), searched('b', [200, 400])];
    expect(names(runs)).toEqual([['offered', 'a good', 'a 429', 'b good', 'b 429']]);
    const [chart] = goodputCharts(runs);
    expect(chart?.series[0]?.points).toEqual([
      [50, 50],
      [100, 100],
      [200, 200],
      [400, 400],
    ]);
    expect(chart?.marks).toEqual([
      { x: 50, name: 'objective met to 50/s', color: 1 },
      { x: 200, name: 'objective met to 200/s', color: 3 },
    ]);
  });

  it('shows from where the client was itself the bottleneck', () => {
    const run = searched('a', [50, 100, 200]);
    const points = run.search?.points.map((each, at) => ({ ...each, isClientBottleneck: at > 0 })) ?? [];
    const [chart] = goodputCharts([{ ...run, search: { saturationRate: 50, points } }]);
    expect(chart?.marks?.map(({ name }) => name)).toEqual([
      'objective met to 50/s',
      'client at its limit at 100/s',
    ]);
  });

  it('tells more of a single search, and what failed where something did', () => {
    expect(names([searched('a', [50, 100])])).toEqual([['offered', 'ok', 'good', '429']]);
    expect(names([searched('a', [50, 100], 3)])).toEqual([['offered', 'ok', 'good', '429', 'failed']]);
    expect(goodputCharts([result('no search')])).toEqual([]);
  });
});
