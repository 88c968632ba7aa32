import type { RunResult } from '../measures/result.ts';
import { formatMs } from '../scenario/duration.ts';
import type { Chart, Series } from './chart.ts';
import { lineOf } from './run-line.ts';
import { type TimePoint, timelineOf } from './timeline.ts';

/** Rates and latencies over time, two charts per run, with axes that runs share. */
export function timeCharts(runs: readonly RunResult[]): Chart[] {
  const timelines = runs.map(timelineOf);
  const points = timelines.flatMap((timeline) => timeline.points);
  const highestRate = highest(points.map(({ offered }) => offered));
  const highestMs = highest(points.map(({ ttft }) => ttft?.p99 ?? 0));
  const charts = runs.flatMap((run, at) => {
    const { points, secondsPerPoint } = timelines[at] ?? timelineOf(run);
    const unit = unitOf(points);
    const { color } = lineOf(at);
    const line = (
      name: string,
      stroke: Series['stroke'],
      of: (point: TimePoint) => number | undefined,
    ): Series => ({ name, stroke, color, points: placed(points, unit, of) });
    const latencyKey = points.some((point) => point.ttft) ? 'ttft' : 'endToEnd';
    const latency = latencyKey === 'ttft' ? 'TTFT' : 'end to end';
    const { warmupMs } = run.scenario;
    const base = {
      xLabel: `time (${unit.name})${secondsPerPoint > 1 ? `, points of ${secondsPerPoint} s` : ''}`,
      xScale: 'linear' as const,
      yScale: 'linear' as const,
      formatX: (time: number) => `${Number(time.toPrecision(5))}`,
      ...(warmupMs > 0 && { shade: { to: warmupMs / 1000 / unit.seconds, name: 'warm-up' } }),
    };
    return [
      {
        ...base,
        title: `${run.name}: requests`,
        yLabel: 'requests per second',
        series: [
          { ...line('offered', 'solid', (point) => point.offered), color: 0 },
          line('good', 'solid', (point) => point.good),
          line('429', 'dashed', (point) => point.refused),
          line('failed', 'dotted', (point) => point.failed),
        ],
        formatY: (rate: number) => `${Number(rate.toPrecision(6))}`,
        yIncludes: [highestRate],
      },
      {
        ...base,
        title: `${run.name}: ${latency}`,
        yLabel: 'latency (unit at each tick)',
        series: [
          line(`${latency} p50`, 'solid', (point) => point[latencyKey]?.p50),
          line(`${latency} p99`, 'dashed', (point) => point[latencyKey]?.p99),
        ],
        formatY: formatMs,
        yIncludes: latencyKey === 'ttft' ? [highestMs] : [],
      },
    ];
  });
  return charts.filter((chart) => chart.series.some((series) => series.points.length > 0));
}

interface Unit {
  name: string;
  seconds: number;
}

/** The unit in which the numbers at the axis have at most three digits. */
function unitOf(points: readonly TimePoint[]): Unit {
  const seconds = points.at(-1)?.second ?? 0;
  if (seconds > 3 * 3600) return { name: 'h', seconds: 3600 };
  return seconds > 300 ? { name: 'min', seconds: 60 } : { name: 's', seconds: 1 };
}

function placed(
  points: readonly TimePoint[],
  unit: Unit,
  of: (point: TimePoint) => number | undefined,
): Series['points'] {
  return points.flatMap((point) => {
    const value = of(point);
    return value === undefined ? [] : [[point.second / unit.seconds, value] as const];
  });
}

function highest(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), 0);
}
