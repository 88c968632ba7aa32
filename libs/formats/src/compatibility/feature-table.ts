import type { CellOutcome, LegOutcome } from '../matrix/outcome.ts';

/** What becomes of a feature between a client's format and a server's dialect. */
export interface FeatureCell {
  /** `served`, `translated`, `passed through` or `for its own format`; absent if every case is refused. */
  word?: string;
  /** The rules by which cases are refused. */
  refusedBy: string[];
  /** The rules that changed something. */
  rules: string[];
}

/** By feature, then by dialect. */
export type FeatureTable = Map<string, Map<string, FeatureCell>>;

const ownOnly = /only one format knows|server's own tools|unknown fields|signatures|citations/;

/** The features that a format's golden cases use in this direction, and what the matrix found for each. */
export function tabulateFeatures(
  cells: readonly CellOutcome[],
  format: string,
  way: 'request' | 'answer',
): FeatureTable {
  const table: FeatureTable = new Map();
  for (const cell of cells) {
    const leg = cell.format === format ? cell[way] : undefined;
    if (!leg || leg.state === 'lossy') continue;
    for (const feature of leg.features) {
      const row = table.get(feature) ?? new Map<string, FeatureCell>();
      const known = row.get(cell.dialect) ?? { refusedBy: [], rules: [] };
      row.set(cell.dialect, withLeg(known, leg, feature, wordFor(feature, cell)));
      table.set(feature, row);
    }
  }
  return new Map([...table].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function wordFor(feature: string, { format, dialect }: CellOutcome): string {
  if (ownOnly.test(feature)) return format === dialect ? 'passed through' : 'for its own format';
  return format === dialect ? 'served' : 'translated';
}

function withLeg(cell: FeatureCell, leg: LegOutcome, feature: string, word: string): FeatureCell {
  if (leg.state === 'refused') return { ...cell, refusedBy: [...new Set([...cell.refusedBy, leg.rule])] };
  if (leg.state !== 'equal') return cell;
  const used = leg.used.filter((use) => use.feature === feature).map(({ rule }) => rule);
  return { ...cell, word, rules: [...new Set([...cell.rules, ...used])].sort() };
}
