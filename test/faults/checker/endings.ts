import type { Observation } from '../observation.ts';
import { isComplete } from './check-answers.ts';
import { tally } from './tally.ts';

/**
 * How the incomplete answers ended, the most frequent way first: ` (5 × clean 503: no worker is free; 1 × cut 200)`.
 * Empty if all are complete, so that it can follow any sentence.
 */
export function formatFailures(observations: readonly Observation[]): string {
  const incomplete = observations.filter((observation) => !isComplete(observation));
  if (incomplete.length === 0) return '';
  const ways = tally(incomplete.map(describeEnding)).map(([ending, count]) => `${count} × ${ending}`);
  return ` (${ways.join('; ')})`;
}

/** The transport's end, the status if there was one, and the error if the answer told one. */
export function describeEnding({ end, status, answer }: Observation): string {
  const told = status === undefined ? end : `${end} ${status}`;
  return answer.error === undefined ? told : `${told}: ${answer.error.message}`;
}
