import { formatRate } from '../progress.ts';
import { formatMs } from '../scenario/duration.ts';
import { describeSlo } from '../scenario/slo.ts';
import { describeErrors, failuresOf } from './error-classes.ts';
import { type MetricName, metricNames } from './recorder.ts';
import { isHeld, type MetricResult, type RunResult, type SearchPoint } from './result.ts';

/** What a metric is called in summaries and reports. */
export const metricTitles: Readonly<Record<MetricName, string>> = {
  ttft: 'time to first token',
  ttftFromSend: '  counted from the send',
  interToken: 'inter-token latency',
  timePerToken: 'time per output token',
  endToEnd: 'end to end',
  endToEndFromSend: '  counted from the send',
  queueWait: 'queue wait',
  refusal: 'time to a 429',
  transit: 'token transit',
  sendDelay: 'client send delay',
  connect: 'time to connect',
};

/** Those that a report shows, in this order. */
export const reportedMetrics: readonly MetricName[] = [
  'ttft',
  'interToken',
  'timePerToken',
  'endToEnd',
  'queueWait',
  'refusal',
  'transit',
  'sendDelay',
  'connect',
];

const columns = ['p50', 'p90', 'p99', 'p99.9'] as const;
/** A terminal has 80 columns: on a wider table, every row would break. */
const labelWidth = 24;
const cellWidth = 9;
const countWidth = 11;

/** The end of a run for a terminal. */
export function summarizeRun(result: RunResult): string {
  const { totals, rates } = result;
  const lines = [
    result.name,
    '',
    row(
      'offered',
      result.measuredMs > 0 ? formatRate(rates.offered) : '',
      `${totals.offered} requests${spanOf(result)}`,
    ),
    row('ok', formatRate(rates.ok), `${totals.ok}`),
    row(
      'good',
      formatRate(rates.good),
      `${totals.asked > 0 ? `${(result.attainment * 100).toFixed(2)} %: ` : ''}${describeSlo(result.scenario.slo)}`,
    ),
    row('refused (429)', formatRate(rates.refused), `${totals.refused}`),
    row('failed', formatRate(rates.failed), `${totals.failed}`),
    ...(totals.aborted > 0 ? [row('left by the client', '', `${totals.aborted}`)] : []),
    ...(totals.interrupted > 0 ? [row('left at the interrupt', '', `${totals.interrupted}`)] : []),
    ...(totals.slow > 0 ? [row('slow readers', '', `${totals.slow}`)] : []),
    row('tokens', `${Math.round(rates.tokens)}/s`, `${totals.tokens}`),
    '',
    latencyLine('', [...columns, 'max'], 'count'),
    ...metricNames.flatMap((name) => latencyRow(result, name)),
    ...correctionLines(result),
    ...errorLines(result),
    ...searchLines(result),
    ...clientLines(result),
  ];
  return `${lines.join('\n')}\n`;
}

function spanOf({ measuredMs, totals }: RunResult): string {
  if (measuredMs > 0) return ` in ${(measuredMs / 1000).toFixed(1)} s`;
  return totals.offered > 0 ? ' at once' : '';
}

function row(label: string, rate: string, detail: string): string {
  return `${label.padEnd(labelWidth)}${rate.padStart(10)}   ${detail}`;
}

function latencyRow(result: RunResult, name: MetricName): string[] {
  const rows = metricRow(metricTitles[name], result.metrics[name]);
  const estimate = estimateOf(result, name);
  return estimate ? [...rows, ...metricRow('  estimate, see below', estimate)] : rows;
}

/** A metric's estimate for independent callers; undefined if there was nothing to estimate. */
export function estimateOf({ correction }: RunResult, name: MetricName): MetricResult | undefined {
  if (correction.by === 'intended-instant' || (name !== 'ttft' && name !== 'endToEnd')) return undefined;
  return correction.estimate?.[name];
}

function metricRow(title: string, metric: MetricResult): string[] {
  if (metric.count === 0) return [];
  const values = columns.map((column) => formatMs(metric.percentiles[column] ?? 0));
  return [latencyLine(title, [...values, formatMs(metric.max)], String(metric.count))];
}

function latencyLine(title: string, values: readonly string[], count: string): string {
  const cells = values.map((value) => value.padStart(cellWidth)).join('');
  return title.padEnd(labelWidth) + cells + count.padStart(countWidth);
}

function correctionLines({ correction }: RunResult): string[] {
  if (correction.by === 'intended-instant' || !correction.estimate) return [];
  const interval = formatMs(correction.intervalMs);
  return [
    '',
    `closed loop: users wait for answers, so a stall hides those who would have come meanwhile. The estimate adds`,
    `them for an expected interval of ${interval} between a user's requests; it means nothing where answers differ in`,
    `length. --pace measures instead of estimating.`,
  ];
}

function errorLines({ errors }: RunResult): string[] {
  const classes = Object.entries(errors).sort(([, a], [, b]) => b - a);
  return classes.length === 0 ? [] : ['', ...classes.map(([name, count]) => row(name, '', String(count)))];
}

function searchLines({ search, scenario }: RunResult): string[] {
  if (!search) return [];
  // A load past the found rate may have met the objective, too.
  const isHighest = !search.points.some((point) => point.phase === 'beyond' && isHeld(point));
  const highest = isHighest ? 'is the highest rate' : 'is the rate that the search found, not the highest';
  const found =
    search.saturationRate > 0
      ? `${formatRate(search.saturationRate)} ${highest} that met: ${describeSlo(scenario.slo)}`
      : `no rate met: ${describeSlo(scenario.slo)}`;
  return ['', found, ...search.points.flatMap(failureLine)];
}

/** What failed at a load of a search; nothing for results of versions that did not keep it. */
function failureLine({ offeredRate, failedRate, errors }: SearchPoint): string[] {
  if (failedRate === 0 || !errors) return [];
  const classes = describeErrors(failuresOf(errors));
  return [row(`failed at ${formatRate(offeredRate)}`, formatRate(failedRate), classes)];
}

function clientLines({ client }: RunResult): string[] {
  if (client.findings.length === 0) return [];
  const head = client.isBottleneck
    ? 'THE CLIENT WAS ITSELF THE BOTTLENECK; do not trust these figures:'
    : 'note:';
  return ['', head, ...client.findings.map((finding) => `  ${finding}`)];
}
