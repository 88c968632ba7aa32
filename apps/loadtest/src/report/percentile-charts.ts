import type { MetricName } from '../measures/recorder.ts';
import { metricHistogram, type RunResult } from '../measures/result.ts';
import { metricTitles, reportedMetrics } from '../measures/summary.ts';
import { formatMs } from '../scenario/duration.ts';
import type { Chart } from './chart.ts';
import { lineOf } from './run-line.ts';
import { fitScale } from './scale.ts';

const curveSteps = 60;
/** Latency over percentile, a chart per metric that any run has. */
export function percentileCharts(runs: readonly RunResult[]): Chart[] {
  return reportedMetrics
    .filter((name) => runs.some((run) => run.metrics[name].count > 0))
    .map((name) => {
      const series = runs.map((run, at) => ({
        name: run.name,
        ...lineOf(at),
        points: percentileCurve(run, name),
      }));
      const title = metricTitles[name];
      return {
        title: title.charAt(0).toUpperCase() + title.slice(1),
        xLabel: 'percentile (%)',
        yLabel: 'latency (unit at each tick)',
        xScale: 'percentile' as const,
        yScale: fitScale(series.flatMap((line) => line.points.map(([, y]) => y))),
        series,
        formatX: (percentile: number) => `${Number(percentile.toFixed(4))}`,
        formatY: formatMs,
      };
    });
}

const shallowest = -Math.log10(0.9);

/**
 * The curve from the 10th percentile (lower ones do not matter) up to the highest that the number of samples supports.
 */
function percentileCurve(run: RunResult, name: MetricName): [number, number][] {
  const metric = run.metrics[name];
  if (metric.count === 0) return [];
  const histogram = metricHistogram(metric);
  const deepest = Math.min(5, Math.log10(Math.max(10, metric.count)));
  return Array.from({ length: curveSteps + 1 }, (_, at) => {
    const depth = shallowest + ((deepest - shallowest) * at) / curveSteps;
    const percentile = 100 * (1 - 10 ** -depth);
    return [percentile, histogram.percentile(percentile)];
  });
}
