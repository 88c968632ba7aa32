import { type Figure, judge, type Row, rows, type Verdict } from './goals.ts';
import type { Measures } from './measures.ts';

/** A column of the table: the medians of a contender. */
export interface Column {
  name: string;
  isGateway: boolean;
  measures: Measures;
}

const marks: Readonly<Record<Verdict, string>> = { moonshot: 'moonshot', held: 'held', missed: '**MISSED**' };

/** The table of goals as Markdown: a line per row that was measured, a column per contender, the verdict last. */
export function formatTable(columns: readonly Column[]): string {
  const direct = columns.find(({ name }) => name === 'direct')?.measures ?? {};
  const shown = columns.filter(({ name }) => name !== 'direct');
  const lines = rows.flatMap((row) => formatRow(row, shown, direct));
  if (lines.length === 0) return 'nothing was measured that the table shows';
  const head = ['Metric', ...shown.map(({ name }) => name), 'must', 'moonshot', ''];
  return alignColumns([head, ...lines]);
}

/** How many of the goals that were measured the gateway held and missed. */
export function countGoals(columns: readonly Column[]): { held: number; missed: number; moonshot: number } {
  const direct = columns.find(({ name }) => name === 'direct')?.measures ?? {};
  const own = columns.find(({ isGateway }) => isGateway)?.measures ?? {};
  const counts = { held: 0, missed: 0, moonshot: 0 };
  for (const row of rows) {
    for (const figure of row.figures) {
      const verdict = judge(row, figure, figure.read(own, direct));
      if (verdict) counts[verdict] += 1;
    }
  }
  return counts;
}

function formatRow(row: Row, columns: readonly Column[], direct: Measures): string[][] {
  const cells = columns.map(({ measures }) => row.figures.map((figure) => figure.read(measures, direct)));
  if (cells.every((values) => values.every((value) => value === undefined))) return [];
  const labels = row.figures.map(({ label }) => label).filter(Boolean);
  const title = `${row.title}${labels.length > 0 ? `, ${labels.join(' / ')}` : ''} (${row.unit})`;
  const gateway = columns.findIndex(({ isGateway }) => isGateway);
  const verdicts = row.figures.map((figure, at) => judge(row, figure, cells[gateway]?.[at]));
  return [
    [
      title,
      ...cells.map((values) => values.map((value) => format(value, row.digits)).join(' / ')),
      goals(row, ({ must }) => must),
      goals(row, ({ moonshot }) => moonshot),
      verdicts
        .map((verdict) => (verdict ? marks[verdict] : ''))
        .filter(Boolean)
        .join(' / '),
    ],
  ];
}

function goals(row: Row, read: (figure: Figure) => number | undefined): string {
  const values = row.figures.map(read);
  if (values.every((value) => value === undefined)) return '';
  const sign = row.bound === 'most' ? '≤' : '≥';
  const isOpen = (value: number | undefined) => value === undefined || value === 0 || value === Infinity;
  return `${sign} ${values.map((value) => (isOpen(value) ? '–' : Number(value).toLocaleString('en'))).join(' / ')}`;
}

function format(value: number | undefined, digits: number): string {
  if (value === undefined) return '–';
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function alignColumns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(3, ...lines.map((line) => line[at]?.length ?? 0)));
  const formatted = lines.map(
    (line) => `| ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [formatted[0], rule, ...formatted.slice(1)].join('\n');
}
