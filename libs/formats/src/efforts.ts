import type { ReasoningEffort } from '@sluice/canonical';

/** All efforts, the weakest first. */
export const effortsByStrength: readonly ReasoningEffort[] = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
];

/** The effort of this name; absent if there is none. */
export function effortNamed(name: unknown): ReasoningEffort | undefined {
  return effortsByStrength.find((effort) => effort === name);
}

/** The weakest of the known efforts that is stronger than this one, or else the strongest; absent if none is known. */
export function nearestEffort(
  effort: ReasoningEffort,
  known: readonly ReasoningEffort[],
): ReasoningEffort | undefined {
  const strength = effortsByStrength.indexOf(effort);
  return known.find((other) => effortsByStrength.indexOf(other) > strength) ?? known.at(-1);
}

/** The effort that spends about as much as this budget of tokens, which is above 0. */
export function effortOf(budget: number): 'low' | 'medium' | 'high' {
  if (budget <= 4096) return 'low';
  return budget <= 16_384 ? 'medium' : 'high';
}
