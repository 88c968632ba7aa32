import type { RunResult, SearchPoint } from '../measures/result.ts';
import { formatRate } from '../progress.ts';
import type { Chart, Series } from './chart.ts';
import { lineOf, quiet } from './run-line.ts';

/** Goodput over offered load, up to and past saturation: one chart for all searches, none if there was no search. */
export function goodputCharts(runs: readonly RunResult[]): Chart[] {
  const searches = runs.flatMap(({ name, search }, at) =>
    search ? [{ name, ...search, line: lineOf(at) }] : [],
  );
  const [first] = searches;
  if (!first) return [];
  const isAlone = searches.length === 1;
  const all = searches.flatMap(({ points }) => points).toSorted((a, b) => a.offeredRate - b.offeredRate);
  const hasFailed = all.some((point) => point.failedRate > 0);
  const results = searches.flatMap(({ name, points, line }) => {
    const prefix = isAlone ? '' : `${name} `;
    return [
      ratesOf(points, 'goodRate', { ...line, name: `${prefix}good` }),
      ratesOf(points, 'refusedRate', { ...line, name: `${prefix}429`, stroke: line.tailStroke }),
      ...(hasFailed
        ? [ratesOf(points, 'failedRate', { ...line, name: `${prefix}failed`, stroke: 'dotted' })]
        : []),
    ];
  });
  const formatX = (rate: number) => `${Number(rate.toPrecision(3))}`;
  return [
    {
      title: isAlone ? `${first.name}: goodput to and past saturation` : 'Goodput to and past saturation',
      xLabel: 'offered load (requests per second)',
      yLabel: 'requests per second',
      xScale: 'linear',
      yScale: 'linear',
      series: [
        ratesOf(all, 'offeredRate', { ...quiet, name: 'offered', stroke: 'dotted' }),
        ...(isAlone ? [ratesOf(all, 'okRate', { ...quiet, name: 'ok' })] : []),
        ...results,
      ],
      formatX,
      formatY: formatX,
      marks: searches.flatMap(({ saturationRate, points, line: { color } }) => [
        ...(saturationRate > 0
          ? [{ x: saturationRate, name: `objective met to ${formatRate(saturationRate)}`, color }]
          : []),
        ...doubtfulFrom(points).map((x) => ({ x, name: `client at its limit at ${formatRate(x)}`, color })),
      ]),
    },
  ];
}

/** The lowest load at which the client was itself the bottleneck, if there was one. */
function doubtfulFrom(points: readonly SearchPoint[]): number[] {
  const doubtful = points.filter((point) => point.isClientBottleneck);
  return doubtful.length === 0 ? [] : [Math.min(...doubtful.map((point) => point.offeredRate))];
}

function ratesOf(
  points: readonly SearchPoint[],
  key: 'offeredRate' | 'okRate' | 'goodRate' | 'refusedRate' | 'failedRate',
  { name, color, stroke }: Omit<Series, 'points'>,
): Series {
  return { name, color, stroke, points: points.map((point) => [point.offeredRate, point[key]]) };
}
