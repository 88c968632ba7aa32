import type { IntervalResult, RunResult } from '../measures/result.ts';

/** A run's seconds, joined into the points that a chart draws. */
export interface Timeline {
  points: readonly TimePoint[];
  /** How many seconds are in a point. */
  secondsPerPoint: number;
}

/**
 * Several seconds in one: rates are their mean; `p50` is the mean and `p99` the highest of the seconds that have one.
 */
export interface TimePoint {
  /** Start of the first, in seconds of the run. */
  second: number;
  offered: number;
  good: number;
  refused: number;
  failed: number;
  ttft: Latency | undefined;
  endToEnd: Latency | undefined;
}

interface Latency {
  p50: number;
  p99: number;
}

const maximumPoints = 600;
/** Round lengths of a point, in seconds. */
const lengths = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** The run's whole seconds, joined if there are too many to be told apart. */
export function timelineOf(run: RunResult): Timeline {
  const seconds = run.intervals.filter((interval) => isWhole(interval, run));
  const rough = seconds.length / maximumPoints;
  const secondsPerPoint = lengths.find((length) => length >= rough) ?? Math.ceil(rough);
  const groups = Map.groupBy(seconds, ({ second }) => Math.floor(second / secondsPerPoint));
  return {
    points: [...groups].map(([at, group]) => pointOf(at * secondsPerPoint, group)),
    secondsPerPoint,
  };
}

/** Whether an interval is a whole second. The last may be a fraction, whose counts would look like a drop. */
function isWhole(interval: IntervalResult, { intervals, scenario }: RunResult): boolean {
  return interval !== intervals.at(-1) || (interval.second + 1) * 1000 === scenario.durationMs;
}

function pointOf(second: number, group: readonly IntervalResult[]): TimePoint {
  const rate = (key: 'offered' | 'good' | 'refused' | 'failed') =>
    mean(group.map((interval) => interval[key]));
  return {
    second,
    offered: rate('offered'),
    good: rate('good'),
    refused: rate('refused'),
    failed: rate('failed'),
    ttft: latency(group, 'ttftP50', 'ttftP99'),
    endToEnd: latency(group, 'endToEndP50', 'endToEndP99'),
  };
}

function latency(
  group: readonly IntervalResult[],
  p50: 'ttftP50' | 'endToEndP50',
  p99: 'ttftP99' | 'endToEndP99',
): Latency | undefined {
  const measured = (key: typeof p50 | typeof p99) =>
    group.map((interval) => interval[key]).filter((ms) => ms !== undefined);
  const highest = measured(p99);
  return highest.length === 0 ? undefined : { p50: mean(measured(p50)), p99: Math.max(...highest) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
