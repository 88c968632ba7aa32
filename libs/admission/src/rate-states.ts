import type { RateState } from '@sluice/canonical';
import type { Answer } from './ledger.ts';
import type { ScopedLimit } from './policy.ts';

/**
 * The rates that callers are told of. If the key and its tenant both have a rate that counts the same, the scarcer one.
 */
export function rateStates(
  policies: readonly ScopedLimit[],
  amounts: readonly number[],
  { refused, levels }: Pick<Answer, 'refused' | 'levels'>,
  now: number,
): RateState[] {
  const states: RateState[] = [];
  policies.forEach(({ limit: { counts, check } }, index) => {
    const level = levels[index];
    if (counts === undefined || check.primitive !== 'rate' || level === undefined) return;
    const { max, periodMs } = check;
    const used = refused === undefined ? level + (amounts[index] ?? 0) : level;
    const state = { counts, max, left: Math.max(0, max - used), fullAt: now + (used * periodMs) / max };
    const other = states.findIndex((known) => known.counts === counts);
    if (other < 0) states.push(state);
    else if (state.left < (states[other]?.left ?? 0)) states[other] = state;
  });
  return states;
}
