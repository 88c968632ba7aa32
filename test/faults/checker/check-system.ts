import type { RunLog } from '../observation.ts';
import { checkCharges } from './check-charges.ts';
import { faultsDuring } from './explain.ts';
import { attemptsByRequest } from './request-lines.ts';
import type { Violation } from './violation.ts';

/** Within this time, cancelled work ends if no fault is in the way. */
const stopLimitMs = 500;
/** Slack for a busy machine. Work that ignores a cancel goes on for much longer. */
const stopSlackMs = 2_500;
/** How often a request may be tried again for failures of its upstream alone. */
const upstreamRetries = 2;
const attemptLimit = 8;
/** The most that a heap at rest may be after a load, as a multiple of before. */
const heapGrowthLimit = 1.1;

/** Checks invariants 4 to 8: what clients can't see. */
export function checkSystem(log: RunLog): Violation[] {
  return [
    ...checkLeftovers(log),
    ...checkHeaps(log),
    ...checkCharges(log),
    ...checkBudgets(log),
    ...checkRuns(log),
    ...checkStops(log),
    ...checkFence(log),
    ...checkCanaries(log),
  ];
}

function checkLeftovers({ leftovers }: RunLog): Violation[] {
  const leak = (detail: string): Violation => ({ invariant: 4, kind: 'leaked', detail });
  const counts = { ...leftovers.gauges, ...leftovers.redis };
  return [
    ...Object.entries(counts)
      .filter(([, value]) => value !== 0)
      .map(([name, value]) => leak(`${name} is ${value}`)),
    ...leftovers.keysWithoutExpiry.map((key) => leak(`the key ${key} never expires`)),
  ];
}

/** A process that holds more memory at rest than before the load has kept something of its requests. */
function checkHeaps({ heaps }: RunLog): Violation[] {
  if (!heaps) return [];
  const bytesBefore = new Map(heaps.before.map(({ pid, bytes }) => [pid, bytes]));
  return heaps.after.flatMap(({ process, pid, bytes }): Violation[] => {
    const before = bytesBefore.get(pid);
    const inMegabytes = (size: number): string => (size / 1e6).toFixed(1);
    const detail =
      before === undefined
        ? `${process} did not live through the load`
        : `${process} went from ${inMegabytes(before)} to ${inMegabytes(bytes)} MB`;
    if (before !== undefined && bytes <= before * heapGrowthLimit) return [];
    return [{ invariant: 4, kind: 'heap-grown', detail }];
  });
}

function checkBudgets({ budgets }: RunLog): Violation[] {
  return budgets
    .filter(({ spent, reserved, limit }) => spent + reserved > limit)
    .map(({ tenant, spent, reserved, limit }) => ({
      invariant: 5,
      kind: 'over-budget',
      detail: `${tenant}: ${spent} spent and ${reserved} reserved of ${limit}`,
    }));
}

function checkRuns(log: RunLog): Violation[] {
  const runs = new Map<number, number>();
  for (const { index } of log.upstreamRuns) runs.set(index, (runs.get(index) ?? 0) + 1);
  const attempts = attemptsByRequest(log.lines);
  return log.observations.flatMap((observation): Violation[] => {
    const { plan, requestId } = observation;
    const faults = faultsDuring(observation, log).length;
    const allowed = Math.min(attemptLimit, 1 + faults + (plan.model === 'sim' ? 0 : upstreamRetries));
    const tried = attempts.get(requestId ?? '') ?? 0;
    const ran = runs.get(plan.index) ?? 0;
    const detail = `${tried} attempts and ${ran} runs with ${faults} faults around`;
    // The upstream engine repeats a call once if a kept-alive connection broke before the first byte.
    const isRepeated = plan.upstream?.kind === 'cut' && plan.upstream.at === 0;
    const runsExplained = Math.max(1, tried) * (isRepeated ? 2 : 1);
    // The queue may give out an attempt twice, but only if an acknowledgement was lost.
    if (tried <= allowed && ran <= runsExplained + Math.min(faults, 2)) return [];
    return [{ invariant: 6, kind: 'too-many-runs', request: plan.index, detail }];
  });
}

function checkStops(log: RunLog): Violation[] {
  const left = new Map(
    log.observations
      .filter(({ end }) => end === 'left')
      .map((observation) => [observation.plan.index, observation]),
  );
  return log.upstreamRuns.flatMap((run): Violation[] => {
    const observation = left.get(run.index);
    if (!observation || faultsDuring(observation, log).length > 0) return [];
    const lateMs = (run.closedAt ?? Number.POSITIVE_INFINITY) - observation.endedAt;
    if (lateMs <= stopLimitMs + stopSlackMs) return [];
    const detail = `the upstream's socket was closed ${lateMs} ms after the client had left`;
    return [{ invariant: 6, kind: 'not-stopped', request: run.index, detail }];
  });
}

/** Long suspensions make zombies. If none of their frames was ever dropped, the run has not tested the fence. */
function checkFence({ faults, counters }: RunLog): Violation[] {
  const suspensions = faults.filter(
    ({ kind, startedAt, endedAt }) => kind === 'worker suspended' && endedAt - startedAt > 3_500,
  ).length;
  if (suspensions < fenceSample) return [];
  const dropped =
    (counters['sluice_frames_dropped_total{reason="old-attempt"}'] ?? 0) +
    (counters['sluice_frames_dropped_total{reason="unknown"}'] ?? 0);
  if (dropped > 0) return [];
  const detail = `${suspensions} long suspensions and not one frame of a zombie dropped`;
  return [{ invariant: 7, kind: 'fence-untested', detail }];
}

/** With so many suspensions, at least one hits a worker with streams almost surely. */
const fenceSample = 5;

function checkCanaries({ canaries, haystacks, lines, observations }: RunLog): Violation[] {
  const places = [
    ...haystacks,
    { where: 'a log', text: lines.map(({ text }) => text).join('\n') },
    {
      where: 'an error body',
      text: observations
        .filter(({ answer }) => answer.error)
        .map(({ body }) => body)
        .join('\n'),
    },
  ];
  return places.flatMap(({ where, text }) =>
    canaries
      .filter((canary) => text.includes(canary.text))
      .map(({ what }): Violation => ({ invariant: 8, kind: 'canary', detail: `${what} in ${where}` })),
  );
}
