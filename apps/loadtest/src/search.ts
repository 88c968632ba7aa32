import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/canonical';
import { addErrors, describeErrors, type ErrorCounts } from './measures/error-classes.ts';
import { type ClientResult, isHeld, type RunResult, type SearchPoint } from './measures/result.ts';
import { formatRate } from './progress.ts';
import { type RunOptions, runScenario } from './run.ts';
import { findSaturation } from './saturation.ts';
import type { Scenario } from './scenario/scenario.ts';

/** How a caller follows a search. */
export interface SearchRunOptions extends RunOptions {
  /** A load was tried. */
  onPoint?(point: SearchPoint): void;
  /** A load is about to be tried, in requests per second. */
  onLoad?(rate: number, phase: SearchPoint['phase']): void;
}

/**
 * Finds the highest rate that meets the scenario's objective and that the server keeps up with, then tries higher loads
 * to show what a saturated server does. The result is the run at the found rate, with all points in `search`. If no rate
 * met the objective, it is the run at the lowest rate that sent any request.
 */
export async function searchSaturation(scenario: Scenario, options: SearchRunOptions): Promise<RunResult> {
  const { load, search } = scenario;
  if (load.kind !== 'open') {
    throw new SluiceError('invalid-request', 'a saturation search needs open-loop arrivals');
  }
  let loads = 0;
  const points: SearchPoint[] = [];
  const runs: Tried[] = [];
  const wrong: WrongLoad[] = [];
  const probe = async (rate: number, phase: SearchPoint['phase'], isRepeated = false): Promise<RunResult> => {
    options.onLoad?.(rate, phase);
    const profile = { kind: 'constant' as const, rate };
    // A new seed for every load: with the same draw, the search would repeat its luck.
    const seed = scenario.seed + loads;
    loads += 1;
    const result = await runScenario({ ...scenario, seed, load: { ...load, profile } }, options);
    // Whatever becomes of this load: no wrong text is passed over.
    if (result.wrongText) wrong.push({ rate, wrongText: result.wrongText });
    // An interrupted load says nothing else: its last requests were abandoned and count for nothing.
    options.signal.throwIfAborted();
    // A miss that the client may have caused itself says nothing about the server: try once more.
    if (!isHeld(result) && result.client.isBottleneck && phase === 'search' && !isRepeated) {
      return probe(rate, phase, true);
    }
    const point = pointOf(result, phase);
    points.push(point);
    if (phase === 'search') runs.push({ rate, result });
    options.onPoint?.(point);
    await sleep(search.settleMs, undefined, { signal: options.signal });
    return result;
  };
  try {
    const { best } = await findSaturation({
      ...search,
      probe: (rate) => probe(rate, 'search'),
      isMet: isHeld,
      isHopeless,
    });
    if (best) for (const factor of search.beyond) await probe(best.rate * factor, 'beyond');
  } catch (error) {
    // An interrupted search reports the loads that it has tried.
    if (!options.signal.aborted) throw error;
    if (runs.length === 0) throw new SluiceError('cancelled', 'interrupted before the first load was over');
  }
  const met = runs.filter((run) => isHeld(run.result)).sort((a, b) => b.rate - a.rate);
  const best = met[0] ?? runs.findLast((run) => run.result.totals.asked > 0) ?? runs.at(-1);
  if (!best) throw new SluiceError('internal', 'a search without a trial');
  const { result } = best;
  // The rate that was really offered, which in a short Poisson run may differ from the intended one.
  const rate = met[0]?.result.rates.offered ?? 0;
  points.sort((a, b) => a.offeredRate - b.offeredRate);
  const name = scenario.name ?? `saturation search at ${new URL(scenario.target).host}`;
  const bounded = withBounds(runs, met[0], search.maxRate) ?? result.client;
  const judged = [withBeyond, withBehind, withClientLimits].reduce(
    (client, judge) => judge(client, points),
    bounded,
  );
  const client = withWrongText(judged, wrong);
  const found = {
    ...result,
    ...(wrong.length > 0 && { wrongText: addErrors(...wrong.map((load) => load.wrongText)) }),
    name,
    search: { saturationRate: rate, points },
    client,
  };
  return options.signal.aborted ? interrupted(found) : found;
}

/** Classes of errors that a lower load would not cure; those of an overloaded server are not among them. */
const errorsAtAnyLoad =
  /^(?:http (?:3|4(?!08|29))|connection: connect(?: |$)|connection: protocol|encoded body|not a stream|malformed|wrong text)/;

/** Whether a lower load would show nothing new: nothing was asked, or nothing succeeded for reasons other than load. */
function isHopeless({ totals, errors }: RunResult): boolean {
  if (totals.asked === 0) return true;
  return totals.ok === 0 && Object.keys(errors).every((error) => errorsAtAnyLoad.test(error));
}

interface Tried {
  rate: number;
  result: RunResult;
}

/** The client's part of the best load; if something other than the server bounded the search, that is added. */
function withBounds(
  runs: readonly Tried[],
  best: Tried | undefined,
  maxRate: number,
): ClientResult | undefined {
  if (!best) return undefined;
  const { client } = best.result;
  const missed = runs.filter(({ rate }) => rate > best.rate).sort((a, b) => a.rate - b.rate)[0];
  if (missed?.result.client.isBottleneck) {
    const why = missed.result.client.findings.map((finding) => `at ${formatRate(missed.rate)}: ${finding}`);
    const head =
      'the next higher load was missed with the client itself at its limit: the server may bear more';
    return { ...client, isBottleneck: true, findings: [head, ...why, ...client.findings] };
  }
  if (best.rate < maxRate) return undefined;
  const note = `every load up to ${formatRate(maxRate)} met the objective; the search tried no higher one (--search-max)`;
  return { ...client, findings: [...client.findings, note] };
}

/** A load past the found one that meets the objective as well leaves the found rate in doubt. */
function withBeyond(client: ClientResult, points: readonly SearchPoint[]): ClientResult {
  const met = points.filter((point) => point.phase === 'beyond' && isHeld(point));
  if (met.length === 0) return client;
  const rates = met.map(({ offeredRate }) => formatRate(offeredRate)).join(', ');
  const finding = `past the rate that the search found, ${rates} met the objective as well: the server may bear more`;
  return { ...client, findings: [...client.findings, finding] };
}

/** Loads that met the objective only because they ended in time. */
function withBehind(client: ClientResult, points: readonly SearchPoint[]): ClientResult {
  const behind = points.filter((point) => point.meetsSlo && !isHeld(point));
  if (behind.length === 0) return client;
  const rates = behind.map(({ offeredRate }) => formatRate(offeredRate)).join(', ');
  const finding = `at ${rates} the objective was met for as long as the load lasted, but the server fell behind: not counted as met`;
  return { ...client, findings: [...client.findings, finding] };
}

/** Loads of which nobody can tell whether the server or the client determined their figures. */
function withClientLimits(client: ClientResult, points: readonly SearchPoint[]): ClientResult {
  const limited = points.filter((point) => point.isClientBottleneck);
  if (limited.length === 0) return client;
  const rates = limited.map(({ offeredRate }) => formatRate(offeredRate)).join(', ');
  const finding = `at ${rates} the client was itself the bottleneck: what these loads show may be its own limit`;
  return { ...client, findings: [...client.findings, finding] };
}

/** A load with wrong text in it, its warm-up included. */
interface WrongLoad {
  rate: number;
  wrongText: ErrorCounts;
}

/** Wrong text is wrong at every load, also at those that are not the result. */
function withWrongText(client: ClientResult, loads: readonly WrongLoad[]): ClientResult {
  if (loads.length === 0) return client;
  const where = loads.map(({ rate, wrongText }) => `${formatRate(rate)} (${describeErrors(wrongText)})`);
  const finding = `these loads of the search were answered wrong: ${where.join(', ')}`;
  return { ...client, findings: [finding, ...client.findings] };
}

function interrupted(result: RunResult): RunResult {
  const note = 'interrupted: the search had not ended, and a higher rate may do';
  const client = { ...result.client, findings: [...result.client.findings, note] };
  return { ...result, isInterrupted: true, client };
}

function pointOf(result: RunResult, phase: SearchPoint['phase']): SearchPoint {
  const { rates, metrics } = result;
  return {
    phase,
    offeredRate: rates.offered,
    okRate: rates.ok,
    goodRate: rates.good,
    refusedRate: rates.refused,
    failedRate: rates.failed,
    attainment: result.attainment,
    meetsSlo: result.meetsSlo,
    ...(result.fallsBehind && { fallsBehind: true as const }),
    errors: result.errors,
    ...(metrics.ttft.count > 0 && {
      ttftP50: metrics.ttft.percentiles.p50 ?? 0,
      ttftP99: metrics.ttft.percentiles.p99 ?? 0,
    }),
    ...(metrics.endToEnd.count > 0 && {
      endToEndP50: metrics.endToEnd.percentiles.p50 ?? 0,
      endToEndP99: metrics.endToEnd.percentiles.p99 ?? 0,
    }),
    isClientBottleneck: result.client.isBottleneck,
  };
}
