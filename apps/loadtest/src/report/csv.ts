import { metricNames } from '../measures/recorder.ts';
import type { RunResult, SearchPoint } from '../measures/result.ts';

/** One row per run, metric and statistic: `run,metric,statistic,unit,value`, as data frames want it. */
export function renderCsv(runs: readonly RunResult[]): string {
  const lines = ['run,metric,statistic,unit,value'];
  for (const run of runs) {
    const add = (metric: string, statistic: string, unit: string, value: number) =>
      lines.push(
        [
          quoted(run.name),
          quoted(metric),
          quoted(statistic),
          unit,
          String(Number(value.toPrecision(10))),
        ].join(','),
      );
    for (const [name, rate] of Object.entries(run.rates)) add(name, 'rate', '1/s', rate);
    for (const [name, count] of Object.entries(run.totals)) add(name, 'count', '', count);
    add('attainment', 'share', '', run.attainment);
    if (run.fallsBehind) {
      add('falls behind', 'first half', 'ms', run.fallsBehind.firstHalfMs);
      add('falls behind', 'second half', 'ms', run.fallsBehind.secondHalfMs);
    }
    if (run.search) add('saturation', 'rate', '1/s', run.search.saturationRate);
    add('client is bottleneck', 'flag', '', run.client.isBottleneck ? 1 : 0);
    add('requests repeated', 'count', '', run.client.requestsRepeated);
    for (const name of metricNames) {
      const { count, mean, min, max, percentiles } = run.metrics[name];
      if (count === 0) continue;
      add(name, 'count', '', count);
      for (const [statistic, value] of Object.entries({ mean, min, ...percentiles, max }))
        add(name, statistic, 'ms', value);
    }
    for (const [name, count] of Object.entries(run.errors)) add(`error: ${name}`, 'count', '', count);
    const points = run.search?.points ?? [];
    const labels = pointLabels(points);
    for (const [index, point] of points.entries()) {
      const at = labels[index] ?? '';
      for (const [name, value] of [
        ['ok', point.okRate],
        ['good', point.goodRate],
        ['refused', point.refusedRate],
        ['failed', point.failedRate],
      ] as const)
        add(at, name, '1/s', value);
      for (const [name, value] of [
        ['ttft p50', point.ttftP50],
        ['ttft p99', point.ttftP99],
        ['end to end p50', point.endToEndP50],
        ['end to end p99', point.endToEndP99],
      ] as const)
        if (value !== undefined) add(at, name, 'ms', value);
      if (point.fallsBehind) add(at, 'falls behind', '', 1);
      if (point.isClientBottleneck) add(at, 'client is bottleneck', '', 1);
      for (const [name, count] of Object.entries(point.errors ?? {})) add(at, `error: ${name}`, '', count);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** What each load of a search is called. One that was offered twice is numbered, for a row's name is its key. */
function pointLabels(points: readonly SearchPoint[]): string[] {
  const seen = new Map<string, number>();
  return points.map(({ offeredRate }) => {
    const label = `at ${offeredRate.toFixed(2)}/s`;
    const count = (seen.get(label) ?? 0) + 1;
    seen.set(label, count);
    return count === 1 ? label : `${label} #${count}`;
  });
}

function quoted(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
