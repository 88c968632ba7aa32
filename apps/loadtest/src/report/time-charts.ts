import { formatMs } from '../duration.ts';
import type { IntervalResult, RunResult } from '../result.ts';
import type { Chart, Series } from './chart.ts';
import { colorOf } from './run-color.ts';

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
