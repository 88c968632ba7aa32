import { addErrors, sortedErrors } from '../measures/error-classes.ts';
import { type MetricName, metricNames } from '../measures/recorder.ts';
import type { MetricResult, RunResult } from '../measures/result.ts';
import { estimateOf, metricTitles } from '../measures/summary.ts';
import { formatRate } from '../progress.ts';
import { formatMs } from '../scenario/duration.ts';
import { escapeHtml } from './html-text.ts';

interface Row {
  label: string;
  /** Absent means the run has no such value. */
  value(run: RunResult): number | undefined;
  format(value: number): string;
  /** Which direction is better; absent: runs are not compared. */
  better?: 'higher' | 'lower';
  /** True: no row if all runs have 0. */
  isRare?: boolean;
}

const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
const whole = (count: number) => String(Math.round(count));

const throughput: readonly Row[] = [
  { label: 'offered', value: (run) => run.rates.offered, format: formatRate },
  { label: 'ok', value: (run) => run.rates.ok, format: formatRate, better: 'higher' },
  { label: 'good (goodput)', value: (run) => run.rates.good, format: formatRate, better: 'higher' },
  {
    label: 'good share',
    value: (run) => (run.totals.asked > 0 ? run.attainment : undefined),
    format: percent,
    better: 'higher',
  },
  {
    label: 'highest load within the objective',
    value: (run) => run.search?.saturationRate,
    format: formatRate,
    better: 'higher',
  },
  { label: 'refused (429)', value: (run) => run.rates.refused, format: formatRate },
  { label: 'failed', value: (run) => run.rates.failed, format: formatRate, better: 'lower' },
  { label: 'left by the client', value: (run) => run.totals.aborted, format: whole, isRare: true },
  {
    label: 'left at the interrupt',
    value: (run) => run.totals.interrupted,
    format: whole,
    isRare: true,
  },
  { label: 'slow readers', value: (run) => run.totals.slow, format: whole, isRare: true },
  { label: 'tokens per second', value: (run) => run.rates.tokens, format: whole, better: 'higher' },
];

const client: readonly Row[] = [
  {
    label: 'event loop busy',
    value: (run) => Math.max(...run.client.processes.map((p) => p.loopShare)),
    format: percent,
  },
  {
    label: 'event loop late, p99',
    value: (run) => Math.max(...run.client.processes.map((p) => p.loopDelayP99Ms)),
    format: formatMs,
  },
  {
    label: 'whole machine busy',
    value: (run) => Math.max(...run.client.processes.map((p) => p.machineShare)),
    format: percent,
  },
  { label: 'connections opened', value: (run) => run.client.connectionsOpened, format: whole },
  { label: 'requests repeated', value: (run) => run.client.requestsRepeated, format: whole, isRare: true },
];

/** Rates and the client's health, a column per run, with differences from the first run. */
export function figuresTable(runs: readonly RunResult[]): string {
  const body = [group('Throughput', throughput, runs), group('Client', client, runs)].join('');
  return table('figure', namesOf(runs), body);
}

/** Latencies: a block per metric with a row per run, so that runs stand below each other; empty if there are none. */
export function latencyTable(runs: readonly RunResult[]): string {
  const body = metricNames.map((name) => latencyGroup(name, runs)).join('');
  return body === '' ? '' : table('latency', [...statistics, 'samples'], body);
}

/** Failures and refusals by class, a column per run; empty if there were none. */
export function errorTable(runs: readonly RunResult[]): string {
  const classes = [...new Set(runs.flatMap((run) => Object.keys(run.errors)))].sort();
  if (classes.length === 0) return '';
  const rows = classes.map((name) => ({
    label: name,
    value: (run: RunResult) => run.errors[name] ?? 0,
    format: whole,
  }));
  return table('class', namesOf(runs), rows.map((row) => tableRow(row, runs)).join(''));
}

/** Failures and refusals at each load of the searches, a column per class; empty if there were none. */
export function loadErrorTable(runs: readonly RunResult[]): string {
  const searches = runs.flatMap(({ name, search }) =>
    search
      ? [{ name, points: search.points.filter(({ errors = {} }) => Object.keys(errors).length > 0) }]
      : [],
  );
  const points = searches.flatMap((search) => search.points);
  const classes = sortedErrors(addErrors(...points.map(({ errors }) => errors))).map(([name]) => name);
  if (classes.length === 0) return '';
  const rows = searches.flatMap((search) => [
    ...(runs.length > 1 && search.points.length > 0 ? [groupHead(search.name, classes.length + 1)] : []),
    ...search.points.map(({ offeredRate, errors }) => {
      const cells = classes.map((name) => `<td>${errors?.[name] ?? 0}</td>`);
      return `<tr><th scope="row">at ${formatRate(offeredRate)}</th>${cells.join('')}</tr>`;
    }),
  ]);
  return table('load', classes, rows.join(''));
}

const namesOf = (runs: readonly RunResult[]) => runs.map((run) => run.name);

/** A table that scrolls, also by keyboard, if it is wider than the page. `rows` names what its rows are. */
function table(rows: string, columns: readonly string[], body: string): string {
  const head = [rows, ...columns].map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join('');
  return `<div class="table" role="region" tabindex="0" aria-label="by ${rows}"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

const statistics = ['p50', 'p90', 'p99', 'p99.9', 'max'] as const;

function latencyGroup(name: MetricName, runs: readonly RunResult[]): string {
  const shown = runs.filter((run) => run.metrics[name].count > 0);
  if (shown.length === 0) return '';
  const title = titleOf(name);
  if (runs.length === 1 && shown[0])
    return latencyRow(title, shown[0].metrics[name]) + estimateRow('Estimate', name, shown[0]);
  const head = groupHead(title, statistics.length + 2);
  const rows = shown.map((run, at) => {
    const first = at === 0 ? undefined : shown[0]?.metrics[name];
    return latencyRow(run.name, run.metrics[name], first) + estimateRow(`${run.name}: estimate`, name, run);
  });
  return head + rows.join('');
}

function estimateRow(label: string, name: MetricName, run: RunResult): string {
  const estimate = estimateOf(run, name);
  return estimate ? latencyRow(`${label} for independent callers`, estimate) : '';
}

/** A row of latencies, compared with those of `first` if given. */
function latencyRow(label: string, metric: MetricResult, first?: MetricResult): string {
  const cells = statistics.map((statistic) => {
    const value = statisticOf(metric, statistic);
    const compared = first ? difference('lower', statisticOf(first, statistic), value) : '';
    return `<td>${formatMs(value)}${compared}</td>`;
  });
  return `<tr><th scope="row">${escapeHtml(label)}</th>${cells.join('')}<td>${metric.count}</td></tr>`;
}

function statisticOf(metric: MetricResult, statistic: (typeof statistics)[number]): number {
  return statistic === 'max' ? metric.max : (metric.percentiles[statistic] ?? 0);
}

/** Metrics that are also shown as counted from the send, which is what other tools call by the same name. */
const sameFromSend: Partial<Record<MetricName, MetricName>> = {
  ttftFromSend: 'ttft',
  endToEndFromSend: 'endToEnd',
};

function titleOf(name: MetricName): string {
  const base = sameFromSend[name];
  const title = base === undefined ? metricTitles[name] : `${metricTitles[base]}, counted from the send`;
  return title.charAt(0).toUpperCase() + title.slice(1);
}

function group(title: string, rows: readonly Row[], runs: readonly RunResult[]): string {
  const shown = rows.filter((row) =>
    runs.map(row.value).some((value) => value !== undefined && (value > 0 || row.isRare !== true)),
  );
  if (shown.length === 0) return '';
  return groupHead(title, runs.length + 1) + shown.map((row) => tableRow(row, runs)).join('');
}

function groupHead(title: string, columns: number): string {
  return `<tr class="group"><th scope="colgroup" colspan="${columns}">${escapeHtml(title)}</th></tr>`;
}

function tableRow(row: Row, runs: readonly RunResult[]): string {
  const first = runs[0] && row.value(runs[0]);
  const cells = runs.map((run, at) => {
    const value = row.value(run);
    if (value === undefined) return '<td>–</td>';
    return `<td>${escapeHtml(row.format(value))}${at === 0 ? '' : difference(row.better, first, value)}</td>`;
  });
  return `<tr><th scope="row">${escapeHtml(row.label)}</th>${cells.join('')}</tr>`;
}

function difference(better: Row['better'], first: number | undefined, value: number): string {
  if (!better || first === undefined || first === 0) return '';
  const change = (value - first) / first;
  if (Math.abs(change) < 0.005) return '<small>±0 %</small>';
  const isBetter = change > 0 === (better === 'higher');
  const sign = change > 0 ? '+' : '−';
  return `<small class="${isBetter ? 'good' : 'bad'}">${sign}${(Math.abs(change) * 100).toFixed(Math.abs(change) < 0.1 ? 1 : 0)} %</small>`;
}
