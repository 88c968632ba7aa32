import type { RunResult } from '../measures/result.ts';
import { formatMs } from '../scenario/duration.ts';
import type { Chart, Series } from './chart.ts';
import { type LoadLine, loadLines, spansLoads } from './load-lines.ts';
import { fitScale } from './scale.ts';

const metrics = [
  { key: 'ttft', title: 'Time to first token over load' },
  { key: 'endToEnd', title: 'End to end over load' },
] as const;
type Metric = (typeof metrics)[number]['key'];

const quantiles = [
  { key: 'p50', stroke: 'stroke' },
  { key: 'p99', stroke: 'tailStroke' },
] as const;

/** Latency over offered load, a chart per metric; none if all runs had the same load. */
export function loadCharts(runs: readonly RunResult[]): Chart[] {
  const lines = loadLines(runs);
  return metrics.flatMap(({ key, title }) => {
    const measured = lines.flatMap((line) => line.points).filter((point) => point[key] !== undefined);
    return spansLoads(measured) ? [loadChart(title, lines, key)] : [];
  });
}

function loadChart(title: string, lines: readonly LoadLine[], metric: Metric): Chart {
  const series = lines.flatMap((line) => seriesOf(line, metric));
  return {
    title,
    xLabel: 'offered load (requests per second)',
    yLabel: 'latency (unit at each tick)',
    xScale: 'linear',
    yScale: fitScale(series.flatMap((line) => line.points.map(([, y]) => y))),
    series,
    formatX: (rate) => `${Number(rate.toPrecision(3))}`,
    formatY: formatMs,
  };
}

function seriesOf({ name, line, points }: LoadLine, metric: Metric): Series[] {
  return quantiles.map(({ key, stroke }) => ({
    name: `${name} ${key}`,
    color: line.color,
    stroke: line[stroke],
    points: points.flatMap((point) => {
      const latency = point[metric];
      return latency ? [[point.rate, latency[key]] as const] : [];
    }),
  }));
}
