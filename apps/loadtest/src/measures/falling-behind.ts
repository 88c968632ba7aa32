import { formatMs } from '../scenario/duration.ts';
import type { Load, Scenario } from '../scenario/scenario.ts';
import type { Half } from './halves.ts';
import type { FallingBehind, IntervalResult } from './result.ts';

type OpenLoad = Extract<Load, { kind: 'open' }>;
type SteadyLoad = OpenLoad & { profile: Extract<OpenLoad['profile'], { kind: 'constant' }> };

/** Half of what the measured part of a steady load is to last; of others, half of the time they have. */
export function halfMs({ load, durationMs, warmupMs, requests = Infinity }: Scenario): number {
  const neededMs = isSteady(load) ? (requests * 1000) / load.profile.rate : Infinity;
  return Math.max(0, Math.min(durationMs, neededMs) - warmupMs) / 2;
}

/** The share of a load that a server may leave over: chance alone moves short loads by a few percent. */
const toleratedShare = 0.05;
/** Of the standard error of the difference between the halves. */
const sureDeviations = 3;
const chanceDeviations = 2;

/**
 * Whether a server did less than a steady load asked of it, so that a longer load would show longer times; undefined if
 * it kept up. Two things must grow. Times alone grow while a server that began empty fills up, and requests in flight
 * alone where an answer takes longer than the load.
 */
export function fallingBehind(
  scenario: Scenario,
  halves: readonly { first: Half; second: Half }[],
  intervals: readonly IntervalResult[],
): FallingBehind | undefined {
  const { load, warmupMs } = scenario;
  if (!isSteady(load)) return undefined;
  const lengthMs = halfMs(scenario);
  const first = sumOf(halves.map((each) => each.first));
  const second = sumOf(halves.map((each) => each.second));
  if (first.count < 2 || second.count < 2) return undefined;
  const [firstHalfMs, secondHalfMs] = [first.ms / first.count, second.ms / second.count];
  const growthMs = secondHalfMs - firstHalfMs;
  const errorMs = Math.sqrt(varianceOf(first) / first.count + varianceOf(second) / second.count);
  // A queue that grows by 1 s in 10 s gets 10 % more than is taken from it.
  if (growthMs <= toleratedShare * lengthMs || growthMs <= sureDeviations * errorMs) return undefined;
  const endMs = warmupMs + 2 * lengthMs;
  const measured = intervals.filter(({ second: at, isMeasured }) => isMeasured && (at + 1) * 1000 <= endMs);
  const later = measured.slice(Math.floor(measured.length / 2));
  const before = measured[measured.length - later.length - 1];
  const after = later.at(-1);
  if (!before || !after) return undefined;
  const offered = later.reduce((sum, interval) => sum + interval.offered, 0);
  // Of independent arrivals, so many more or fewer come by chance.
  const byChance = chanceDeviations * Math.sqrt(offered);
  if (after.inFlight - before.inFlight <= Math.max(toleratedShare * offered, byChance)) return undefined;
  return { firstHalfMs, secondHalfMs };
}

/** The finding in words. */
export function describeFallingBehind({ firstHalfMs, secondHalfMs }: FallingBehind): string {
  const times = `${formatMs(firstHalfMs)} in the first half of the load and ${formatMs(secondHalfMs)} in the second`;
  return `the server fell behind: answers took ${times}, and a longer load (--duration) would show longer times`;
}

function isSteady(load: Load): load is SteadyLoad {
  return load.kind === 'open' && load.profile.kind === 'constant';
}

function sumOf(halves: readonly Half[]): Half {
  const sum = { count: 0, ms: 0, squares: 0 };
  for (const { count, ms, squares } of halves) {
    sum.count += count;
    sum.ms += ms;
    sum.squares += squares;
  }
  return sum;
}

function varianceOf({ count, ms, squares }: Half): number {
  return Math.max(0, squares / count - (ms / count) ** 2);
}
