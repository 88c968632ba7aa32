import { type Clock, createHostClock } from './clock.ts';
import {
  addErrors,
  describeErrors,
  type ErrorCounts,
  wrongTextClass,
  wrongTextOf,
} from './measures/error-classes.ts';
import { describeFallingBehind, fallingBehind } from './measures/falling-behind.ts';
import { LatencyHistogram } from './measures/histogram.ts';
import { addTotals, emptyMetrics, emptyTotals, type MetricName, metricNames } from './measures/recorder.ts';
import { type Correction, type IntervalResult, metricResult, type RunResult } from './measures/result.ts';
import { checkSelf } from './measures/self-check.ts';
import type { Done } from './measures/throughput.ts';
import { Timeline } from './measures/timeline.ts';
import { runFleet } from './processes/fleet.ts';
import type { ShardResult } from './processes/shard.ts';
import { meanOf } from './scenario/distribution.ts';
import { fitDuration, notesOfCut } from './scenario/load-length.ts';
import type { Load, Scenario } from './scenario/scenario.ts';
import type { ScenarioFiles } from './scenario/scenario-files.ts';
import { shownScenario } from './scenario/shown-scenario.ts';

/** How a caller follows and ends a run. */
export interface RunOptions {
  /** The contents of the scenario's files. They are read before, and once: a file may be a pipe. */
  files: ScenarioFiles;
  /** Called once a second, when all processes that still run have reported it. */
  onInterval?(interval: IntervalResult): void;
  /** Ends the run early; what was measured so far is the result. */
  signal: AbortSignal;
  clock?: Clock;
}

/** Runs a scenario and sums it up. */
export async function runScenario(asked: Scenario, options: RunOptions): Promise<RunResult> {
  const startedAt = new Date().toISOString();
  const { trace, ...files } = options.files;
  const scenario = fitDuration(asked, trace);
  const timeline = new Timeline(scenario, options.onInterval);
  const { shards, losses } = await runFleet(
    { scenario, ...files, trace: trace?.entries },
    {
      clock: options.clock ?? createHostClock(),
      signal: options.signal,
      onInterval: (interval, process) => timeline.add(interval, process),
      onEnd: (process) => timeline.end(process),
    },
  );
  const notes = [
    ...notesOfCut(scenario, trace),
    ...notesOfText(files.expectedText, shards),
    ...notesOfRepetition(scenario, shards),
  ];
  const keys = files.keys.length;
  const intervals = timeline.finish();
  const isInterrupted = options.signal.aborted;
  return summarize({ scenario, startedAt, keys, shards, intervals, notes, losses, isInterrupted });
}

/** The load in a few words. */
function describeLoad(load: Load): string {
  if (load.kind === 'closed') return `${load.users} users in a closed loop`;
  if (load.kind === 'trace')
    return `trace ${load.file}${load.speed === 1 ? '' : ` at ${load.speed} times its speed`}`;
  const { profile, spacing } = load;
  const arrivals = spacing === 'poisson' ? 'Poisson arrivals' : 'even arrivals';
  if (profile.kind === 'constant') return `${profile.rate}/s, ${arrivals}`;
  if (profile.kind === 'ramp') return `${profile.from} to ${profile.to}/s, ${arrivals}`;
  return `steps of ${profile.steps.map((step) => step.rate).join(', ')}/s, ${arrivals}`;
}

interface Measured {
  scenario: Scenario;
  startedAt: string;
  keys: number;
  shards: readonly ShardResult[];
  intervals: IntervalResult[];
  /** What a reader should know about the load, in words. */
  notes: readonly string[];
  /** Client processes that died, in words. */
  losses: readonly string[];
  isInterrupted: boolean;
}

function summarize(measured: Measured): RunResult {
  const { scenario, startedAt, keys, shards, intervals, losses, isInterrupted } = measured;
  const totals = emptyTotals();
  const metrics = emptyMetrics();
  for (const shard of shards) {
    addTotals(totals, shard.totals);
    for (const name of metricNames) metrics[name].add(LatencyHistogram.decode(shard.metrics[name]));
  }
  const errors = addErrors(...shards.map((shard) => Object.fromEntries(shard.errors)));
  const inWarmup = warmupWrongText(shards);
  const wrongText = wrongTextOf(addErrors(errors, inWarmup));
  const measuredMs = Math.max(0, ...shards.map((shard) => shard.measuredMs));
  const requestsRepeated = shards.reduce((sum, shard) => sum + shard.requestsRepeated, 0);
  // An interrupt leaves the answers of a load's last part out.
  const behind = isInterrupted
    ? undefined
    : fallingBehind(
        scenario,
        shards.map(({ halves }) => halves),
        intervals,
      );
  const notes = [
    ...(behind ? [describeFallingBehind(behind)] : []),
    ...notesOfWarmup(inWarmup),
    ...measured.notes,
    ...notesOfContent(shards),
    ...notesOfRepeats(requestsRepeated),
    ...notesOfUnsent(shards),
    ...notesOfTail(metrics),
  ];
  if (totals.offered === 0) notes.push('no request was due in the measured part: there is nothing to judge');
  if (isInterrupted)
    notes.push(
      `interrupted: ${totals.interrupted} requests were left unanswered; the objective asks nothing of them`,
    );
  const attainment = totals.asked > 0 ? totals.good / totals.asked : 0;
  const asked = (count: number) => perSecond(count, measuredMs);
  const done = sumOf(shards.map((shard) => shard.throughput));
  const isClosed = scenario.load.kind === 'closed';
  const results = metricNames.map((name) => [name, metricResult(metrics[name])] as const);
  const processes = shards.map((shard) => shard.self);
  const self = checkSelf({
    processes,
    ...metrics,
    errors,
    overrunAt: shards.some((shard) => shard.isOverrun) ? scenario.maxInFlight : undefined,
    connections: {
      maximum: scenario.maxConnections,
      waited: shards.reduce((sum, shard) => sum + shard.connectionWaits, 0),
    },
  });
  return {
    version: 1,
    name: scenario.name ?? describeLoad(scenario.load),
    startedAt,
    ...(isInterrupted && { isInterrupted }),
    scenario: shownScenario(scenario, keys),
    measuredMs,
    totals,
    rates: {
      offered: asked(totals.offered),
      // A closed loop is counted in whole rounds, including their answers.
      ok: isClosed ? asked(totals.ok) : perSecond(done.ok, done.ms),
      good: isClosed ? asked(totals.good) : perSecond(done.good, done.ms),
      refused: asked(totals.refused),
      failed: asked(totals.failed),
      tokens: perSecond(done.tokens, done.ms),
    },
    attainment,
    meetsSlo: totals.asked > 0 && attainment >= scenario.slo.attainment,
    ...(behind && { fallsBehind: behind }),
    // The list of names is complete, so every key is there.
    metrics: Object.fromEntries(results) as RunResult['metrics'],
    correction: correctionOf(scenario.load, metrics),
    errors,
    ...(wrongText && { wrongText }),
    intervals,
    client: {
      processes,
      connectionsOpened: shards.reduce((sum, shard) => sum + shard.connectionsOpened, 0),
      requestsRepeated,
      isBottleneck: self.isBottleneck || losses.length > 0,
      findings: [...losses, ...self.findings, ...notes],
    },
  };
}

/**
 * Users of a closed loop without a pace wait for answers, so a stall hides the callers who would have come meanwhile.
 */
function correctionOf(load: Load, { ttft, endToEnd }: Record<MetricName, LatencyHistogram>): Correction {
  if (load.kind !== 'closed' || load.paceMs !== undefined) return { by: 'intended-instant' };
  const intervalMs = endToEnd.percentile(50) + meanOf(load.thinkMs);
  if (endToEnd.count === 0) return { by: 'expected-interval', intervalMs };
  const estimated = (measured: LatencyHistogram) => metricResult(measured.corrected(intervalMs));
  return {
    by: 'expected-interval',
    intervalMs,
    estimate: { ttft: estimated(ttft), endToEnd: estimated(endToEnd) },
  };
}

function notesOfText(expected: string | undefined, shards: readonly ShardResult[]): string[] {
  const differs = shards.some(({ errors, warmupWrongText }) =>
    [...errors, ...warmupWrongText].some(([name]) => name === wrongTextClass('mismatch')),
  );
  if (!differs || !expected?.endsWith('\n')) return [];
  return ['the expected text ends in a newline, as editors write it: an answer without one differs from it'];
}

/** Notes for a repetition check that compared only few answers. */
function notesOfRepetition({ verify }: Scenario, shards: readonly ShardResult[]): string[] {
  const read = shards.reduce((sum, { texts }) => sum + texts.read, 0);
  const compared = shards.reduce((sum, { texts }) => sum + texts.compared, 0);
  if (verify !== 'repeat' || compared * 2 >= read) return [];
  return [
    `only ${compared} of ${read} answers could be compared: the questions of the others came once in their process`,
  ];
}

function warmupWrongText(shards: readonly ShardResult[]): ErrorCounts {
  return addErrors(...shards.map((shard) => Object.fromEntries(shard.warmupWrongText)));
}

function notesOfWarmup(wrongText: ErrorCounts): string[] {
  const found = describeErrors(wrongText);
  return found === '' ? [] : [`in the warm-up, which is not measured: ${found}`];
}

function notesOfContent(shards: readonly ShardResult[]): string[] {
  const empty = shards.reduce((sum, shard) => sum + shard.emptyStreams, 0);
  return empty === 0 ? [] : [`${empty} streams ended well, but brought no content`];
}

/** Such a request may have been answered well in the end, so no other figure tells of its reset. */
function notesOfRepeats(count: number): string[] {
  if (count === 0) return [];
  return [
    `${count} requests met a reset on a reused connection and were sent again: clients that do not repeat see failures`,
  ];
}

function notesOfUnsent(shards: readonly ShardResult[]): string[] {
  const unsent = shards.reduce((sum, shard) => sum + shard.unsent, 0);
  if (unsent === 0) return [];
  return [
    `${unsent} requests were due, but were not sent before the grace was over: no figure tells of them`,
  ];
}

/** With fewer samples, less than ten lie beyond the 99th percentile, so chance moves it. */
const samplesOfTail = 1000;
const tails = [
  ['endToEnd', 'answers'],
  ['ttft', 'first tokens'],
  ['refusal', '429s'],
] as const;

/** On how little a p99 rests. What is true of all answers is not repeated for their first tokens. */
function notesOfTail(metrics: Record<MetricName, LatencyHistogram>): string[] {
  const told = new Set([0]);
  return tails.flatMap(([name, what]) => {
    const { count } = metrics[name];
    if (count >= samplesOfTail || told.has(count)) return [];
    told.add(count);
    const slowest = count - Math.round(0.99 * count) + 1;
    const rests = slowest === 1 ? 'is the slowest one' : `rests on the ${slowest} slowest`;
    return [`too few for a tail: of ${count} ${what} p99 ${rests}`];
  });
}

/** A rate; 0 for what came at one instant, which has none. */
function perSecond(count: number, ms: number): number {
  return ms > 0 ? (count * 1000) / ms : 0;
}

/** The sum over processes. They run side by side, so counts add up and times do not. */
function sumOf(parts: readonly Done[]): Done {
  const sum = { ok: 0, good: 0, tokens: 0, ms: 0 };
  for (const { ok, good, tokens, ms } of parts) {
    sum.ok += ok;
    sum.good += good;
    sum.tokens += tokens;
    sum.ms = Math.max(sum.ms, ms);
  }
  return sum;
}
