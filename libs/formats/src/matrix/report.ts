import { answerRules } from './answer-rules.ts';
import { type CellOutcome, type LegOutcome, type Mode, stateOf } from './outcome.ts';
import { refusals } from './refusals.ts';
import { requestRules } from './request-rules.ts';

/** The matrix as text: a row per case, a column per dialect and mode, then the rules and every loss. */
export function renderMatrix(cells: readonly CellOutcome[]): string {
  const columns = [...new Set(cells.map(columnOf))];
  const rows = new Map<string, CellOutcome[]>();
  for (const cell of cells) {
    const name = `${cell.format}/${cell.name}`;
    rows.set(name, [...(rows.get(name) ?? []), cell]);
  }
  const nameWidth = Math.max(...[...rows.keys()].map((name) => name.length));
  const width = Math.max(26, ...columns.map((column) => column.length));
  // The path of a refusal may be longer than a column, and pushes the rest of its row to the right.
  const lineOf = (name: string, words: readonly string[]) =>
    [name.padEnd(nameWidth), ...words.map((word) => word.padEnd(width))].join('  ').trimEnd();
  const lines = [lineOf('', columns)];
  for (const [name, row] of rows) {
    const words = columns.map((column) => wordOf(row.find((cell) => columnOf(cell) === column)));
    lines.push(lineOf(name, words));
  }
  return [...lines, '', ...lossLines(cells), ...ruleLines(cells), summaryLine(cells), ''].join('\n');
}

function columnOf({ dialect, mode }: { dialect: string; mode: Mode }): string {
  return `→ ${dialect} ${mode}`;
}

function wordOf(cell: CellOutcome | undefined): string {
  if (!cell) return '';
  const state = stateOf(cell);
  if (state !== 'refused') return state === 'lossy' ? 'LOSSY' : 'equal';
  const refused = [cell.request, cell.answer].find((leg) => leg?.state === 'refused');
  return refused?.state === 'refused' ? `refused ${refused.param}` : '';
}

function legsOf(cells: readonly CellOutcome[]): LegOutcome[] {
  return cells.flatMap(({ request, answer }) => [request, answer].filter((leg) => leg !== undefined));
}

function lossLines(cells: readonly CellOutcome[]): string[] {
  return cells.flatMap((cell) =>
    (['request', 'answer'] as const).flatMap((way) => {
      const leg = cell[way];
      if (leg?.state !== 'lossy') return [];
      return [`LOSSY ${cell.format}/${cell.name} ${columnOf(cell)}, ${way}: ${leg.difference}`];
    }),
  );
}

/** How often each documented rule changed something, so that an unused rule is noticed and removed. */
function ruleLines(cells: readonly CellOutcome[]): string[] {
  const uses = new Map<string, number>();
  const add = (rule: string) => uses.set(rule, (uses.get(rule) ?? 0) + 1);
  for (const { request, answer } of cells) {
    if (request?.state === 'equal')
      for (const rule of new Set(request.used.map((use) => use.rule))) add(`asked ${rule}`);
    if (answer?.state === 'equal')
      for (const rule of new Set(answer.used.map((use) => use.rule))) add(`answered ${rule}`);
    for (const leg of [request, answer]) if (leg?.state === 'refused') add(`refused ${leg.rule}`);
  }
  const line = (key: string, says: string) => `  ${String(uses.get(key) ?? 0).padStart(5)}  ${key}: ${says}`;
  const refusalIds = [...new Set(refusals.map(({ id }) => id))];
  return [
    'Rules, and the cells in which each changed something:',
    ...requestRules.map(({ id, says }) => line(`asked ${id}`, says)),
    ...answerRules.map(({ id, says }) => line(`answered ${id}`, says)),
    ...refusalIds.map((id) =>
      line(
        `refused ${id}`,
        refusals
          .filter((refusal) => refusal.id === id)
          .map(({ dialect, says }) => `${dialect}: ${says}`)
          .join('; '),
      ),
    ),
    '',
  ];
}

function summaryLine(cells: readonly CellOutcome[]): string {
  const count = (state: LegOutcome['state']) => cells.filter((cell) => stateOf(cell) === state).length;
  const legs = legsOf(cells).length;
  return `${cells.length} cells (${legs} ways): ${count('equal')} equal, ${count('refused')} refused by rule, ${count('lossy')} lossy`;
}
