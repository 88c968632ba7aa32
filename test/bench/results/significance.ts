import { median } from './measures.ts';

/** What interleaved rounds say of the second of two: `unclear` where the rounds contradict each other. */
export type Change = 'slower' | 'faster' | 'same' | 'unclear';

export interface Judgement {
  /** Median of the rounds' ratios, second to first. */
  ratio: number;
  change: Change;
}

/** A change below this is none. */
const tolerance = 0.05;
/** Of fewer rounds nothing can be said. */
export const fewestRounds = 4;
/** From the middle deviation of rounds to the standard error of their median, for bell-shaped noise. */
const errorFactor = 1.48 * 1.25;
const certainty = 2.5;
/** With few rounds the median deviation may be small by chance, so fewer than this share of rounds may contradict. */
const contradiction = 0.25;

/** Judges ratios of costs: above 1 is slower. A change counts only if its median exceeds the noise of its rounds. */
export function judgeCosts(ratios: readonly number[]): Judgement {
  if (ratios.length === 0) return { ratio: Number.NaN, change: 'unclear' };
  const logs = ratios.map(Math.log);
  const middle = median(logs) ?? 0;
  const deviation = median(logs.map((each) => Math.abs(each - middle))) ?? 0;
  const error = (errorFactor * deviation) / Math.sqrt(logs.length);
  const ratio = Math.exp(middle);
  const opposite = logs.filter((each) => each * middle < 0).length / logs.length;
  const isSure =
    logs.length >= fewestRounds && opposite < contradiction && Math.abs(middle) > certainty * error;
  if (Math.abs(middle) <= Math.log(1 + tolerance)) {
    return { ratio, change: certainty * error > 2 * tolerance ? 'unclear' : 'same' };
  }
  if (!isSure) return { ratio, change: 'unclear' };
  return { ratio, change: middle > 0 ? 'slower' : 'faster' };
}

/**
 * The verdict over everything that was compared, and its exit code. With `failures`, such as wrong answers, there is
 * none: who does less or does it wrong is not faster.
 */
export function judgeAll(
  judgements: readonly Judgement[],
  failures: readonly string[] = [],
): { text: string; exitCode: number } {
  const has = (change: Change) => judgements.some((judgement) => judgement.change === change);
  if (failures.length > 0)
    return { text: `NOT COMPARABLE: ${[...new Set(failures)].join('; ')}`, exitCode: 2 };
  if (judgements.length === 0) return { text: 'NOTHING WAS COMPARED', exitCode: 2 };
  if (has('slower')) return { text: 'SLOWER', exitCode: 1 };
  return { text: has('unclear') ? 'NOT SLOWER, as far as the noise lets see' : 'NOT SLOWER', exitCode: 0 };
}
