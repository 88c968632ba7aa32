import { assertNever } from '@sluice/canonical';
import { exponential, type Random } from '../random.ts';

/** How the offered rate, in requests per second, changes over a run. After the last part it stays constant. */
export type RateProfile =
  | { kind: 'constant'; rate: number }
  | { kind: 'ramp'; from: number; to: number; overMs: number }
  | { kind: 'steps'; steps: readonly { rate: number; forMs: number }[] };

/** Whether gaps are random (independent callers) or even (a metronome). */
export type Spacing = 'poisson' | 'constant';

/** A straight piece of the rate over time, in requests per millisecond. */
interface Segment {
  lengthMs: number;
  rate: number;
  slope: number;
}

/**
 * The endless sequence of instants at which requests are due, in milliseconds since the start. It stretches a process
 * of unit rate (even or exponential gaps) by the inverse of the rate's integral, so any profile keeps exact Poisson
 * statistics.
 */
export function* arrivalInstants(profile: RateProfile, spacing: Spacing, random: Random): Generator<number> {
  let startMs = 0;
  // Even arrivals begin after half a gap, so that none lies exactly at the end of a step.
  let need = spacing === 'poisson' ? exponential(random) : 0.5;
  for (const segment of segmentsOf(profile)) {
    let elapsed = 0;
    for (;;) {
      const wait = solve(segment.rate + segment.slope * elapsed, segment.slope, need);
      if (!(elapsed + wait <= segment.lengthMs)) break;
      elapsed += wait;
      yield startMs + elapsed;
      need = spacing === 'poisson' ? exponential(random) : 1;
    }
    const rest = segment.lengthMs - elapsed;
    need -= (segment.rate + segment.slope * elapsed) * rest + (segment.slope * rest * rest) / 2;
    startMs += segment.lengthMs;
  }
}

/** The highest rate of a profile, in requests per second. */
export function peakRate(profile: RateProfile): number {
  switch (profile.kind) {
    case 'constant':
      return profile.rate;
    case 'ramp':
      return Math.max(profile.from, profile.to);
    case 'steps':
      return Math.max(...profile.steps.map((step) => step.rate));
    default:
      return assertNever(profile);
  }
}

function segmentsOf(profile: RateProfile): Segment[] {
  switch (profile.kind) {
    case 'constant':
      return [{ lengthMs: Infinity, rate: profile.rate / 1000, slope: 0 }];
    case 'ramp':
      return [
        {
          lengthMs: profile.overMs,
          rate: profile.from / 1000,
          slope: (profile.to - profile.from) / 1000 / profile.overMs,
        },
        { lengthMs: Infinity, rate: profile.to / 1000, slope: 0 },
      ];
    case 'steps':
      return profile.steps.map((step, at) => ({
        lengthMs: at === profile.steps.length - 1 ? Infinity : step.forMs,
        rate: step.rate / 1000,
        slope: 0,
      }));
    default:
      return assertNever(profile);
  }
}

/** The time in which a rate that changes by `slope` produces `need` arrivals; NaN or infinite if it never does. */
function solve(rate: number, slope: number, need: number): number {
  if (slope === 0) return need / rate;
  // The stable form of the quadratic formula: exact for slopes near zero and for rates that start at zero.
  return (2 * need) / (rate + Math.sqrt(rate * rate + 2 * slope * need));
}
