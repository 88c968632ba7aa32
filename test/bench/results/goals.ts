import type { MeasureName, Measures } from './measures.ts';

/** One figure of a row and its goals. */
export interface Figure {
  /** Tells it apart from its neighbour, as `p50`; empty if the row has one figure. */
  label: string;
  /** The figure of a contender, given the measures of a direct call; absent if it was not measured. */
  read(own: Measures, direct: Measures): number | undefined;
  must?: number;
  moonshot?: number;
}

/** A row of the goals table. */
export interface Row {
  title: string;
  unit: string;
  /** Whether a figure has to be at most or at least its goal. */
  bound: 'most' | 'least';
  digits: number;
  figures: readonly Figure[];
}

type Goal = readonly [must: number, moonshot: number];

const added =
  (name: MeasureName): Figure['read'] =>
  (own, direct) => {
    const [value, base] = [own[name], direct[name]];
    return value === undefined || base === undefined ? undefined : value - base;
  };
const plain =
  (name: MeasureName): Figure['read'] =>
  (own) =>
    own[name];

function figure(label: string, read: Figure['read'], goal?: Goal): Figure {
  return { label, read, ...(goal && { must: goal[0], moonshot: goal[1] }) };
}

function addedPair(title: string, p50: MeasureName, p99: MeasureName, goals: readonly [Goal, Goal]): Row {
  const figures = [figure('p50', added(p50), goals[0]), figure('p99', added(p99), goals[1])];
  return { title, unit: 'ms', bound: 'most', digits: 2, figures };
}

function most(title: string, unit: string, digits: number, figures: readonly Figure[]): Row {
  return { title, unit, bound: 'most', digits, figures };
}

function least(title: string, unit: string, digits: number, figures: readonly Figure[]): Row {
  return { title, unit, bound: 'least', digits, figures };
}

const kilobyte = 1000;
const kilobytes =
  (name: MeasureName): Figure['read'] =>
  (own) => {
    const bytes = own[name];
    return bytes === undefined ? undefined : bytes / kilobyte;
  };

/** The goals of one ingress and one worker on two cores; "added" is the median minus the direct median. */
export const rows: readonly Row[] = [
  addedPair('added TTFT, 1 stream', 'ttft1P50', 'ttft1P99', [
    [1.0, 0.6],
    [1.5, 1.2],
  ]),
  addedPair('added TTFT, 32 streams', 'ttft32P50', 'ttft32P99', [
    [1.0, 0.6],
    [2.2, 1.5],
  ]),
  addedPair('added TTFT, 256 paced streams', 'ttft256P50', 'ttft256P99', [
    [1.2, 0.8],
    [5, 4],
  ]),
  most('added TTFT, 256 at once', 'ms', 1, [figure('p50', added('burstP50'), [30, 20])]),
  most('added, non-streaming, 1 at a time', 'ms', 2, [figure('p50', added('singleP50'), [0.9, 0.55])]),
  addedPair('added token transit at 256', 'transitP50', 'transitP99', [
    [0.4, 0.3],
    [2, 1],
  ]),
  least('requests/s at 256 (whole box)', '/s', 0, [figure('', plain('requestRate'), [6500, 9000])]),
  most('ingress CPU per request', 'µs', 0, [figure('', plain('ingressPerRequest'), [55, 45])]),
  most('worker and Redis CPU per request', 'µs', 0, [
    figure('worker', plain('workerPerRequest')),
    figure('redis', plain('redisPerRequest')),
  ]),
  most('whole stack CPU per request', 'µs', 0, [figure('', plain('stackPerRequest'), [210, 150])]),
  least('tokens/s, no gap', '/s', 0, [
    figure('32', plain('tokenRate32'), [150_000, 180_000]),
    figure('256', plain('tokenRate256'), [120_000, 150_000]),
  ]),
  most('whole stack CPU per token, 256 paced', 'µs', 1, [figure('', plain('stackPerToken'), [42, 36])]),
  most('ingress, worker, Redis CPU per token', 'µs', 1, [
    figure('ingress', plain('ingressPerToken')),
    figure('worker', plain('workerPerToken')),
    figure('redis', plain('redisPerToken')),
  ]),
  most('whole stack CPU per token, 256 paced, ten times as long', 'µs', 1, [
    figure('', plain('stackPerLongToken')),
  ]),
  most('ingress, worker, Redis CPU per token of those', 'µs', 1, [
    figure('ingress', plain('ingressPerLongToken')),
    figure('worker', plain('workerPerLongToken')),
    figure('redis', plain('redisPerLongToken')),
  ]),
  most('memory per idle stream', 'KB', 1, [
    figure('ingress', kilobytes('memoryPerStream'), [12, 9]),
    figure('with worker', kilobytes('memoryPerStreamWithWorker'), [28, 20]),
  ]),
  most('5,000 queued jobs drained', 's', 2, [
    figure('', ({ drainMs }) => (drainMs === undefined ? undefined : drainMs / 1000), [0.85, 0.45]),
  ]),
  most('CPU per token beside idle streams', '× that of none', 2, [
    figure('1,000', plain('idle1000PerToken')),
    figure('5,000', plain('idle5000PerToken'), [1.05, 1.05]),
    figure('most', plain('idleMostPerToken'), [Infinity, 1.05]),
  ]),
  least('requests/s beside idle streams', '× that of none', 2, [
    figure('1,000', plain('idle1000Rate')),
    figure('5,000', plain('idle5000Rate'), [0.95, 0.95]),
    figure('most', plain('idleMostRate'), [0, 0.95]),
  ]),
  most('2 and 4 of each at one Redis: Redis CPU per request', '× that of as many apart', 2, [
    figure('2', plain('twoRedisPerRequest'), [1.1, 1]),
    figure('4', plain('fourRedisPerRequest'), [1.1, 1]),
  ]),
  most('2 and 4 of each at one Redis: ingress + worker CPU per token', '× that of as many apart', 2, [
    figure('2', plain('twoPerToken'), [1.1, 1]),
    figure('4', plain('fourPerToken'), [1.1, 1]),
  ]),
  most('2 and 4 of each, with the load of one: Redis CPU per request', '× that of 1', 2, [
    figure('2', plain('twoRedisPerRequestOfOne')),
    figure('4', plain('fourRedisPerRequestOfOne')),
  ]),
  most('2 and 4 of each, with the load of one: ingress + worker CPU per token', '× that of 1', 2, [
    figure('2', plain('twoPerTokenOfOne')),
    figure('4', plain('fourPerTokenOfOne')),
  ]),
];

/** Whether a figure meets its goals; there is no verdict without a goal or without a figure. */
export type Verdict = 'moonshot' | 'held' | 'missed';

export function judge(row: Row, { must, moonshot }: Figure, value: number | undefined): Verdict | undefined {
  if (value === undefined || must === undefined || moonshot === undefined) return undefined;
  const meets = (goal: number) => (row.bound === 'most' ? value <= goal : value >= goal);
  if (meets(moonshot)) return 'moonshot';
  return meets(must) ? 'held' : 'missed';
}
