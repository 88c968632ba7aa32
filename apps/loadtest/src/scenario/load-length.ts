import { SluiceError } from '@sluice/canonical';
import type { Trace } from '../arrivals/trace.ts';
import { formatMs } from './duration.ts';
import { stepsMs } from './natural-length.ts';
import type { Scenario } from './scenario.ts';

/** The scenario with a finite duration: that of its trace if none was given. Throws `invalid-request`. */
export function fitDuration(scenario: Scenario, trace: Trace | undefined): Scenario {
  if (!trace || Number.isFinite(scenario.durationMs)) return scenario;
  const lastMs = trace.entries.at(-1)?.atMs ?? 0;
  // The last arrival counts as well, with the mean gap after it.
  const durationMs = lastMs + Math.max(1, lastMs / Math.max(1, trace.entries.length - 1));
  if (durationMs <= scenario.warmupMs) {
    throw new SluiceError(
      'invalid-request',
      'the trace is over before the warm-up: nothing is left to measure',
    );
  }
  return { ...scenario, durationMs };
}

/** The part of the load that the duration cuts off, in words; empty if all of it is played. */
export function notesOfCut({ load, durationMs }: Scenario, trace: Trace | undefined): string[] {
  const limit = `the duration of ${formatMs(durationMs)}`;
  if (trace) {
    const played = trace.entries.filter(({ atMs }) => atMs < durationMs).length;
    const all = trace.entries.length;
    return played === all ? [] : [`plays ${played} of the trace's ${all} arrivals: ${limit} cuts it off`];
  }
  if (load.kind !== 'open' || load.profile.kind === 'constant') return [];
  const { profile } = load;
  const wholeMs = profile.kind === 'ramp' ? profile.overMs : stepsMs(profile.steps);
  if (wholeMs <= durationMs) return [];
  const played = `plays ${formatMs(durationMs)} of ${formatMs(wholeMs)}`;
  if (profile.kind === 'steps') return [`${played} of steps`];
  const reached = profile.from + ((profile.to - profile.from) * durationMs) / wholeMs;
  return [`${played} of the ramp, which ends at ${Number(reached.toPrecision(3))}/s`];
}
