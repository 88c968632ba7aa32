import { formatRate } from '../progress.ts';
import type { RunResult } from '../result.ts';
import type { Chart, Series } from './chart.ts';
import { colorOf } from './run-color.ts';

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
