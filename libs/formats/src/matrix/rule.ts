import { type Fact, lineOf } from './fact.ts';

/** What a rule may depend on: the client's format, the upstream's dialect, and what the client asked of the reply. */
export interface Crossing {
  format: string;
  dialect: string;
  /** Facts of the client's call that its own format reads back. */
  wire: Readonly<Record<string, unknown>>;
  stream: boolean;
  /** Whether the upstream is asked for a stream. */
  isUpstreamStream: boolean;
  /** Whether an answer's call has arguments of which nothing is readable on this way. */
  hasLostCall: boolean;
}

/**
 * A documented difference between what was said and what arrives. `rewrite` reduces both sides to what the rule
 * preserves, so that everything else must still be equal.
 */
export interface Rule {
  id: string;
  /** One sentence for the documentation. */
  says: string;
  holds(crossing: Crossing): boolean;
  rewrite(facts: readonly Fact[], crossing: Crossing): Fact[];
}

/** Applies all rules that hold. Returns the remaining facts, and the rules that changed anything. */
export function applyRules(
  rules: readonly Rule[],
  facts: readonly Fact[],
  crossing: Crossing,
): { facts: Fact[]; used: { rule: string; feature: string }[] } {
  let left = [...facts];
  const used: { rule: string; feature: string }[] = [];
  for (const rule of rules) {
    if (!rule.holds(crossing)) continue;
    const before = left;
    left = rule.rewrite(left, crossing);
    for (const feature of changedFeatures(before, left)) used.push({ rule: rule.id, feature });
  }
  return { facts: left, used };
}

/** The features with facts that were added, removed or moved. */
function changedFeatures(before: readonly Fact[], after: readonly Fact[]): Set<string> {
  const gone = subtract(before, after);
  const changed = [...gone, ...subtract(after, before)];
  if (changed.length > 0) return new Set(changed.map(({ feature }) => feature));
  const moved = before.filter((fact, index) => lineOf(fact) !== lineOf(after[index] ?? fact));
  return new Set(moved.map(({ feature }) => feature));
}

function subtract(facts: readonly Fact[], others: readonly Fact[]): Fact[] {
  const counts = new Map<string, number>();
  for (const other of others) counts.set(lineOf(other), (counts.get(lineOf(other)) ?? 0) + 1);
  return facts.filter((fact) => {
    const count = counts.get(lineOf(fact)) ?? 0;
    counts.set(lineOf(fact), count - 1);
    return count <= 0;
  });
}

/** The first line in which two lists of facts differ, for the report; absent if they are equal. */
export function firstDifference(wanted: readonly Fact[], found: readonly Fact[]): string | undefined {
  const length = Math.max(wanted.length, found.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [wanted[index], found[index]];
    const before = left === undefined ? 'nothing' : lineOf(left);
    const after = right === undefined ? 'nothing' : lineOf(right);
    if (before !== after) return `${before.slice(0, 300)} → ${after.slice(0, 300)}`;
  }
  return undefined;
}

/** Holds for crossings that have this format at either end. */
export function involves(format: string): (crossing: Crossing) => boolean {
  return (crossing) => crossing.format === format || crossing.dialect === format;
}

/** Holds for crossings towards a server of this dialect, from any format. */
export function toward(dialect: string): (crossing: Crossing) => boolean {
  return (crossing) => crossing.dialect === dialect;
}

/** A rewrite that looks at each fact alone and returns it, another fact, or none. */
export function each(rewrite: (fact: Fact, crossing: Crossing) => Fact | undefined): Rule['rewrite'] {
  return (facts, crossing) => {
    const left: Fact[] = [];
    for (const fact of facts) {
      const next = rewrite(fact, crossing);
      if (next) left.push(next);
    }
    return left;
  };
}

/** The fact without some of its fields. */
export function without(fact: Fact, ...names: string[]): Fact {
  const says = Object.fromEntries(Object.entries(fact.says).filter(([name]) => !names.includes(name)));
  return { ...fact, says };
}

/** The fact with some of its fields replaced. */
export function saying(fact: Fact, says: Fact['says']): Fact {
  return { ...fact, says: { ...fact.says, ...says } };
}
