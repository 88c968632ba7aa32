import { isHeld, type RunResult } from '../measures/result.ts';
import { describeSlo } from '../scenario/slo.ts';
import { type Chart, renderChart, renderSample } from './chart.ts';
import { goodputCharts } from './goodput-charts.ts';
import { escapeHtml } from './html-text.ts';
import { loadCharts } from './load-charts.ts';
import { pageScript, pageStyle } from './page-style.ts';
import { percentileCharts } from './percentile-charts.ts';
import { lineOf } from './run-line.ts';
import { errorTable, figuresTable, latencyTable, loadErrorTable } from './tables.ts';
import { timeCharts } from './time-charts.ts';

/**
 * One self-contained page that compares runs side by side, the first being the reference. It loads nothing,
 * and follows the reader's choice of light or dark.
 */
export function renderHtml(runs: readonly RunResult[]): string {
  const title = runs.length === 1 ? (runs[0]?.name ?? 'load test') : `${runs.length} load tests compared`;
  const sections = [
    section('Load', 'Up to which load the objective holds, and what happens past it.', [
      ...goodputCharts(runs),
      ...loadCharts(runs),
    ]),
    section(
      'Latency by percentile',
      'The tail is stretched: 90, 99 and 99.9 are equally far apart. Lines end where samples do.',
      percentileCharts(runs),
    ),
    section(
      'Over time',
      'Offered requests counted in the second in which they began, all others in that in which they ended. A point of several seconds shows the mean of their rates and of their p50, and their highest p99.',
      timeCharts(runs),
    ),
  ];
  const latencies = latencyTable(runs);
  const errors = errorTable(runs);
  const loadErrors = loadErrorTable(runs);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${runs.map(subtitle).join('\n')}
${runs.length > 1 ? legend(runs) : ''}
${runs.map(warning).join('')}
<h2>Figures</h2>
${figuresTable(runs)}
${latencies === '' ? '' : `<h2>Latency</h2>\n${runs.map(correction).join('')}\n${latencies}`}
${sections.join('\n')}
${errors === '' ? '' : `<h2>Errors</h2>\n${errors}`}
${loadErrors === '' ? '' : `<h2>Errors by load</h2>\n${loadErrors}`}
${runs.map(scenario).join('\n')}
</main>
<script>${pageScript}</script>
</body>
</html>
`;
}

function section(title: string, text: string, charts: readonly Chart[]): string {
  if (charts.length === 0) return '';
  return `<h2>${title}</h2>\n<p>${text}</p>\n<div class="grid">\n${charts.map(renderChart).join('\n')}\n</div>`;
}

function subtitle(run: RunResult): string {
  const { startedAt, scenario: asked, totals } = run;
  const text = `${run.name}: ${totals.offered} requests to ${asked.target}, ${startedAt.slice(0, 19).replace('T', ' ')} UTC, objective ${describeSlo(asked.slo)}`;
  return `<p>${escapeHtml(text)}: ${verdict(run)}</p>`;
}

function verdict(run: RunResult): string {
  if (isHeld(run)) return '<b class="good">met</b>';
  if (run.meetsSlo) return '<b class="bad">met for as long as it lasted, but the server fell behind</b>';
  return run.totals.asked > 0 ? '<b class="bad">missed</b>' : '<b>asked of nobody</b>';
}

function legend(runs: readonly RunResult[]): string {
  const entries = runs.map((run, at) => `<li>${renderSample(lineOf(at))}${escapeHtml(run.name)}</li>`);
  return `<ul class="runs">${entries.join('')}</ul>`;
}

function warning(run: RunResult): string {
  const { findings, isBottleneck } = run.client;
  if (findings.length === 0) return '';
  const head = isBottleneck
    ? 'the client was itself the bottleneck; do not trust these figures'
    : 'something to keep in mind';
  const items = findings.map((finding) => `<li>${escapeHtml(finding)}</li>`).join('');
  return `<div class="warning"><b>${escapeHtml(run.name)}: ${head}</b><ul>${items}</ul></div>`;
}

function correction(run: RunResult): string {
  if (run.correction.by === 'intended-instant' || !run.correction.estimate) return '';
  const text = `${run.name}: a closed loop; what independent callers would have seen is estimated for an expected interval of ${run.correction.intervalMs.toFixed(1)} ms between a user's requests, and means nothing where answers differ in length.`;
  return `<p>${escapeHtml(text)}</p>`;
}

function scenario(run: RunResult): string {
  const text = escapeHtml(JSON.stringify(run.scenario, null, 2));
  return `<details><summary>Scenario of ${escapeHtml(run.name)}</summary><pre>${text}</pre></details>`;
}
