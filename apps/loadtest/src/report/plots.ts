import { formatMs } from '../duration.ts';
import { formatRate } from '../progress.ts';
import type { MetricName } from '../recorder.ts';
import { type IntervalResult, metricHistogram, type RunResult } from '../result.ts';
import { metricTitles, reportedMetrics } from '../summary.ts';
import type { Chart, Series } from './chart.ts';
import { fitScale } from './scale.ts';

const colors = 8;

/** A run's colour: the same in all charts. */
export function colorOf(run: number): number {
  return (run % colors) + 1;
}

const curveSteps = 60;
/** Latency over percentile, a chart per metric that any run has. */
export function percentileCharts(runs: readonly RunResult[]): Chart[] {
  return reportedMetrics
    .filter((name) => runs.some((run) => run.metrics[name].count > 0))
    .map((name) => {
      const series = runs.map((run, at) => ({
        name: run.name,
        color: colorOf(at),
        stroke: 'solid' as const,
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

/** From the 10th percentile, below which nobody looks, up to the one that the number of samples can carry. */
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

/** Rates and latencies over time, two charts per run, with axes that runs share. */
export function timeCharts(runs: readonly RunResult[]): Chart[] {
  const highestRate = Math.max(...runs.flatMap((run) => run.intervals.map((second) => second.offered)));
  const highestMs = Math.max(0, ...runs.flatMap((run) => run.intervals.map((second) => second.ttftP99 ?? 0)));
  return runs.flatMap((run, at) => {
    const color = colorOf(at);
    const line = (
      name: string,
      stroke: Series['stroke'],
      of: (second: IntervalResult) => number | undefined,
    ) => timeSeries(run, { name, stroke, color }, of);
    const hasFirst = run.intervals.some((second) => second.ttftP50 !== undefined);
    const latency = hasFirst ? 'TTFT' : 'end to end';
    const base = { xLabel: 'time (s)', xScale: 'linear' as const, formatX: (second: number) => `${second}` };
    return [
      {
        ...base,
        title: `${run.name}: requests`,
        yLabel: 'requests per second',
        yScale: 'linear' as const,
        series: [
          { ...line('offered', 'solid', (second) => second.offered), color: 0 },
          line('good', 'solid', (second) => second.good),
          line('429', 'dashed', (second) => second.refused),
          line('failed', 'dotted', (second) => second.failed),
        ],
        formatY: (rate: number) => `${Number(rate.toPrecision(6))}`,
        yIncludes: [highestRate],
      },
      {
        ...base,
        title: `${run.name}: ${latency}`,
        yLabel: 'latency (unit at each tick)',
        yScale: 'linear' as const,
        series: [
          line(`${latency} p50`, 'solid', (second) => (hasFirst ? second.ttftP50 : second.endToEndP50)),
          line(`${latency} p99`, 'dashed', (second) => (hasFirst ? second.ttftP99 : second.endToEndP99)),
        ],
        formatY: formatMs,
        yIncludes: hasFirst ? [highestMs] : [],
      },
    ];
  });
}

function timeSeries(
  run: RunResult,
  style: Omit<Series, 'points'>,
  of: (second: IntervalResult) => number | undefined,
): Series {
  const points: [number, number][] = [];
  for (const second of run.intervals) {
    const value = of(second);
    // The last second is a fraction of one: its counts would read as a fall.
    if (value !== undefined && second !== run.intervals.at(-1)) points.push([second.second, value]);
  }
  return { ...style, points };
}

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

/** Goodput over offered load, one chart per search, to and past saturation. */
export function goodputCharts(runs: readonly RunResult[]): Chart[] {
  return runs.flatMap((run, at) => {
    const { search } = run;
    if (!search) return [];
    const color = colorOf(at);
    const line = (
      name: string,
      stroke: Series['stroke'],
      key: 'goodRate' | 'okRate' | 'refusedRate' | 'offeredRate',
    ) => ({
      name,
      stroke,
      color: key === 'offeredRate' || key === 'okRate' ? 0 : color,
      points: search.points.map((point) => [point.offeredRate, point[key]] as const),
    });
    const isFound = search.saturationRate > 0;
    return [
      {
        title: `${run.name}: goodput to and past saturation`,
        xLabel: 'offered load (requests per second)',
        yLabel: 'requests per second',
        xScale: 'linear' as const,
        yScale: 'linear' as const,
        series: [
          line('offered', 'dotted', 'offeredRate'),
          line('ok', 'solid', 'okRate'),
          line('good', 'solid', 'goodRate'),
          line('429', 'dashed', 'refusedRate'),
        ],
        formatX: (rate: number) => `${Number(rate.toPrecision(3))}`,
        formatY: (rate: number) => `${Number(rate.toPrecision(3))}`,
        ...(isFound && {
          mark: {
            x: search.saturationRate,
            name: `objective met to ${formatRate(search.saturationRate)}`,
            color,
          },
        }),
      },
    ];
  });
}
