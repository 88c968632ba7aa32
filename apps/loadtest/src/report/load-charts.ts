import { formatMs } from '../duration.ts';
import type { RunResult } from '../result.ts';
import type { Chart, Series } from './chart.ts';
import { colorOf } from './run-color.ts';
import { fitScale } from './scale.ts';

/** Latency over offered load: the points of each search, and single runs at different loads as one line. */
export function loadChart(runs: readonly RunResult[]): Chart | undefined {
  const series: Series[] = [];
  runs.forEach((run, at) => {
    for (const [name, stroke, key] of quantiles) {
      const points = run.search?.points.map((point) => [point.offeredRate, point[key]] as const) ?? [];
      series.push({ name: `${run.name} ${name}`, color: colorOf(at), stroke, points });
    }
  });
  const single = runs.filter((run) => !run.search).sort((a, b) => a.rates.offered - b.rates.offered);
  if (single.length > 1) {
    for (const [name, stroke, , percentile] of quantiles) {
      const points = single.map((run) => [run.rates.offered, mainLatency(run, percentile)] as const);
      series.push({ name: `runs ${name}`, color: 0, stroke, points });
    }
  }
  const values = series.flatMap((line) => line.points.map(([, y]) => y));
  if (values.length === 0) return undefined;
  return {
    title: 'Time to first token over load',
    xLabel: 'offered load (requests per second)',
    yLabel: 'latency (unit at each tick)',
    xScale: 'linear',
    yScale: fitScale(values),
    series,
    formatX: (rate) => `${Number(rate.toPrecision(3))}`,
    formatY: formatMs,
  };
}

const quantiles = [
  ['p50', 'solid', 'ttftP50', 'p50'],
  ['p99', 'dashed', 'ttftP99', 'p99'],
] as const;

function mainLatency(run: RunResult, percentile: string): number {
  const metric = run.metrics.ttft.count > 0 ? run.metrics.ttft : run.metrics.endToEnd;
  return metric.percentiles[percentile] ?? 0;
}
