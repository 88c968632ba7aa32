import type { RunResult, SearchPoint } from '../measures/result.ts';
import { lineOf, type RunLine } from './run-line.ts';

/** Two percentiles of a latency, in milliseconds. */
export interface Quantiles {
  p50: number;
  p99: number;
}

/** What was measured at one load, in requests per second; latencies that were not measured are absent. */
export interface LoadPoint {
  rate: number;
  ttft: Quantiles | undefined;
  endToEnd: Quantiles | undefined;
}

/** The loads of one system, whose points may be joined by a line. */
export interface LoadLine {
  name: string;
  line: RunLine;
  points: readonly LoadPoint[];
}

/** Loads closer than this are one load. */
const sameLoadShare = 0.05;

interface Numbered {
  run: RunResult;
  line: RunLine;
}

/** A line per search, and one per system that ran at several loads. */
export function loadLines(runs: readonly RunResult[]): LoadLine[] {
  const numbered = runs.map((run, at) => ({ run, line: lineOf(at) }));
  const searches = numbered.flatMap(({ run, line }) =>
    run.search ? [{ name: run.name, line, points: run.search.points.map(pointOfSearch) }] : [],
  );
  const systems = Map.groupBy(
    numbered.filter(({ run }) => !run.search),
    ({ run }) => traits(run).join(' '),
  );
  const groups = [...systems.values()];
  return [...searches, ...groups.flatMap((group) => linesOf(group, groups))];
}

/** Whether there are two loads among these points. */
export function spansLoads(points: readonly { rate: number }[]): boolean {
  return points.some((point) => !isSameLoad(point.rate, points[0]?.rate ?? 0));
}

/** One line; or, if loads repeat, a point per run, since such runs differ in something that results do not show. */
function linesOf(group: readonly Numbered[], groups: readonly (readonly Numbered[])[]): LoadLine[] {
  const sorted = group.toSorted((a, b) => intendedRate(a.run) - intendedRate(b.run));
  const isRepeated = sorted.some(
    ({ run }, at) => at > 0 && isSameLoad(intendedRate(run), intendedRate(sorted[at - 1]?.run ?? run)),
  );
  const first = group[0];
  if (isRepeated || group.length === 1 || !first)
    return group.map(({ run, line }) => ({ name: run.name, line, points: [pointOfRun(run)] }));
  const name = systemName(first.run, groups);
  return [{ name, line: first.line, points: sorted.map(({ run }) => pointOfRun(run)) }];
}

/** What identifies a system: its address, and what is asked of it. */
function traits({ scenario }: RunResult): string[] {
  const distinct = (values: readonly string[]) => [...new Set(values)].join('+');
  return [
    scenario.target.replace(/^https?:\/\//, ''),
    distinct(scenario.traffic.map(({ model }) => model)),
    distinct(scenario.traffic.map(({ format }) => format)),
  ];
}

/** The traits in which it differs from other systems. */
function systemName(run: RunResult, groups: readonly (readonly Numbered[])[]): string {
  const others = groups.flatMap((group) => (group[0] ? [traits(group[0].run)] : []));
  const telling = traits(run).filter((trait, at) => others.some((other) => other[at] !== trait));
  return telling.join(', ') || 'runs';
}

/** The intended rate, since the measured rate of Poisson arrivals is only near it. */
function intendedRate({ scenario: { load }, rates }: RunResult): number {
  return load.kind === 'open' && load.profile.kind === 'constant' ? load.profile.rate : rates.offered;
}

function isSameLoad(a: number, b: number): boolean {
  return Math.abs(a - b) <= sameLoadShare * Math.max(a, b);
}

function pointOfRun({ rates, metrics }: RunResult): LoadPoint {
  const { ttft, endToEnd } = metrics;
  return {
    rate: rates.offered,
    ttft: quantiles(ttft.percentiles.p50, ttft.percentiles.p99),
    endToEnd: quantiles(endToEnd.percentiles.p50, endToEnd.percentiles.p99),
  };
}

function pointOfSearch(point: SearchPoint): LoadPoint {
  return {
    rate: point.offeredRate,
    ttft: quantiles(point.ttftP50, point.ttftP99),
    endToEnd: quantiles(point.endToEndP50, point.endToEndP99),
  };
}

/** Undefined if nothing was measured: results then say 0, which no answer takes. */
function quantiles(p50 = 0, p99 = 0): Quantiles | undefined {
  return p99 > 0 ? { p50, p99 } : undefined;
}
