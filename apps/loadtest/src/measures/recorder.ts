import { isGood, type RequestTimes, type Slo } from '../scenario/slo.ts';
import { isWrongText } from './error-classes.ts';
import type { Halves } from './halves.ts';
import { LatencyHistogram } from './histogram.ts';
import type { Throughput } from './throughput.ts';

/** Latencies that a run measures, in milliseconds. */
export const metricNames = [
  'ttft',
  'ttftFromSend',
  'interToken',
  'timePerToken',
  'endToEnd',
  'endToEndFromSend',
  'queueWait',
  'refusal',
  'transit',
  'sendDelay',
  'connect',
] as const;
export type MetricName = (typeof metricNames)[number];

/** Requests by how they ended. */
export interface Totals {
  /** Arrivals that were due. */
  offered: number;
  ok: number;
  /** Requests that the objective applies to: without clients that were to leave or read slowly on purpose. */
  asked: number;
  /** Of those asked, how many were ok and met the objective. */
  good: number;
  /** Answered with 429. */
  refused: number;
  /** Failed in any other way. */
  failed: number;
  /** Left by the client on purpose, or given up by one that reads slowly on purpose. */
  aborted: number;
  /** In flight when the run was interrupted; left out of latencies and of the objective. */
  interrupted: number;
  /** Read slowly on purpose, however they ended; left out of latencies. */
  slow: number;
  /** Tokens of answers. Each content event is one, unless the server's own count is higher. */
  tokens: number;
  bytes: number;
}

/** One second of a run: `offered` and `slow` are those that began in it, all else is what ended or came in it. */
export interface Interval extends Totals {
  /** Seconds since the start. */
  index: number;
  /** False for the second in which the run ended. */
  isWhole: boolean;
  /** Requests in flight at its end. */
  inFlight: number;
  /** Encoded histograms of the requests that ended in it. */
  ttft: string;
  endToEnd: string;
}

/** How an exchange ended. */
export type Outcome =
  | { kind: 'ok' }
  | { kind: 'refused'; errorClass: string }
  | { kind: 'failed'; errorClass: string }
  | { kind: 'aborted' }
  | { kind: 'interrupted' };

/** A finished request. Instants are in milliseconds of the host's clock; 0 means it did not happen. */
export interface Finished {
  intendedAt: number;
  /** When the client could first have sent it: later than intended if its user still waited for an answer. */
  readyAt: number;
  sentAt: number;
  firstAt: number;
  lastAt: number;
  endedAt: number;
  tokens: number;
  queueWaitMs: number | undefined;
  isStream: boolean;
  isSlow: boolean;
  /**
   * Its client was to leave in the middle. Left out of latencies and of the objective however it ended: those who were
   * not gone when their answer was whole are those who got it quickest.
   */
  isLeaver: boolean;
  /** False during the warm-up. */
  isMeasured: boolean;
}

const maximumErrorClasses = 50;

/** Collects the measurements of one process's requests. */
export class Recorder {
  readonly metrics: Record<MetricName, LatencyHistogram>;
  readonly totals = emptyTotals();
  readonly errors = new Map<string, number>();
  /** Wrong text of the warm-up, by class: what is wrong must show, measured or not. */
  readonly warmupWrongText = new Map<string, number>();
  inFlight = 0;
  /** Measured streams that ended well without any content. */
  emptyStreams = 0;
  private readonly slo: Slo;
  private readonly throughput: Throughput;
  private readonly halves: Halves | undefined;
  private interval = emptyTotals();
  private intervalTtft = new LatencyHistogram(2);
  private intervalEndToEnd = new LatencyHistogram(2);

  constructor(slo: Slo, throughput: Throughput, halves?: Halves) {
    this.slo = slo;
    this.throughput = throughput;
    this.halves = halves;
    this.metrics = emptyMetrics();
  }

  arrived(isSlow: boolean, isMeasured: boolean): void {
    this.inFlight += 1;
    this.interval.offered += 1;
    if (isSlow) this.interval.slow += 1;
    if (!isMeasured) return;
    this.totals.offered += 1;
    if (isSlow) this.totals.slow += 1;
  }

  /** Content came: `tokens` at one instant, `gapMs` after the previous ones; a negative `gapMs` means the first. */
  tokens(tokens: number, at: number, gapMs: number, isMeasured: boolean): void {
    this.wholeTokens(tokens, at, isMeasured);
    if (!isMeasured) return;
    if (gapMs >= 0) this.metrics.interToken.record(gapMs);
    this.metrics.interToken.recordMany(0, tokens - 1);
  }

  /** Tokens came, or became known, whose own instants are not known. */
  wholeTokens(tokens: number, at: number, isMeasured: boolean): void {
    this.interval.tokens += tokens;
    this.throughput.token(tokens, at);
    if (isMeasured) this.totals.tokens += tokens;
  }

  bytes(bytes: number, isMeasured: boolean): void {
    this.interval.bytes += bytes;
    if (isMeasured) this.totals.bytes += bytes;
  }

  finished(request: Finished, outcome: Outcome): void {
    this.inFlight -= 1;
    const times = timesOf(request);
    const isPatient = !request.isSlow && !request.isLeaver;
    const isCounted = outcome.kind === 'ok' && isPatient;
    const good = isCounted && isGood(this.slo, times);
    if (isCounted) {
      if (times.ttftMs !== undefined) this.intervalTtft.record(times.ttftMs);
      this.intervalEndToEnd.record(times.endToEndMs);
    }
    count(this.interval, outcome, isPatient, good);
    if (outcome.kind === 'ok') this.throughput.answer(good, request.endedAt);
    if (outcome.kind === 'refused' || outcome.kind === 'failed')
      this.countError(outcome.errorClass, request.isMeasured);
    if (!request.isMeasured) return;
    count(this.totals, outcome, isPatient, good);
    if (outcome.kind === 'refused') this.metrics.refusal.record(request.endedAt - request.sentAt);
    if (request.sentAt > 0) this.metrics.sendDelay.record(request.sentAt - request.readyAt);
    if (!isCounted) return;
    this.recordTimes(request, times);
    if (request.isStream && request.firstAt === 0) this.emptyStreams += 1;
  }

  /** Closes the current second, which may be only a part of one. */
  takeInterval(index: number, isWhole: boolean): Interval {
    const taken: Interval = {
      ...this.interval,
      index,
      isWhole,
      inFlight: this.inFlight,
      ttft: this.intervalTtft.encode(),
      endToEnd: this.intervalEndToEnd.encode(),
    };
    this.interval = emptyTotals();
    this.intervalTtft = new LatencyHistogram(2);
    this.intervalEndToEnd = new LatencyHistogram(2);
    return taken;
  }

  private recordTimes(request: Finished, times: RequestTimes): void {
    const { metrics } = this;
    metrics.endToEnd.record(times.endToEndMs);
    metrics.endToEndFromSend.record(request.endedAt - request.sentAt);
    this.halves?.record(request.intendedAt, request.endedAt - request.sentAt);
    if (request.queueWaitMs !== undefined) metrics.queueWait.record(request.queueWaitMs);
    if (times.ttftMs === undefined) return;
    metrics.ttft.record(times.ttftMs);
    metrics.ttftFromSend.record(request.firstAt - request.sentAt);
    if (times.tpotMs !== undefined) metrics.timePerToken.record(times.tpotMs);
  }

  private countError(errorClass: string, isMeasured: boolean): void {
    const isWrong = isWrongText(errorClass);
    if (!isMeasured && !isWrong) return;
    const errors = isMeasured ? this.errors : this.warmupWrongText;
    // Servers may name ever new errors. The few classes of wrong text decide about the exit code.
    const isNamed = isWrong || errors.has(errorClass) || errors.size < maximumErrorClasses;
    const name = isNamed ? errorClass : 'other';
    errors.set(name, (errors.get(name) ?? 0) + 1);
  }
}

/** All counts at 0. */
export function emptyTotals(): Totals {
  return {
    offered: 0,
    ok: 0,
    asked: 0,
    good: 0,
    refused: 0,
    failed: 0,
    aborted: 0,
    interrupted: 0,
    slow: 0,
    tokens: 0,
    bytes: 0,
  };
}

/** A histogram for every metric. */
export function emptyMetrics(): Record<MetricName, LatencyHistogram> {
  return {
    ttft: new LatencyHistogram(),
    ttftFromSend: new LatencyHistogram(),
    interToken: new LatencyHistogram(),
    timePerToken: new LatencyHistogram(),
    endToEnd: new LatencyHistogram(),
    endToEndFromSend: new LatencyHistogram(),
    queueWait: new LatencyHistogram(),
    refusal: new LatencyHistogram(),
    transit: new LatencyHistogram(),
    sendDelay: new LatencyHistogram(),
    connect: new LatencyHistogram(),
  };
}

/** Adds counts up. */
export function addTotals(sum: Totals, other: Totals): void {
  sum.offered += other.offered;
  sum.ok += other.ok;
  sum.asked += other.asked;
  sum.good += other.good;
  sum.refused += other.refused;
  sum.failed += other.failed;
  sum.aborted += other.aborted;
  sum.interrupted += other.interrupted;
  sum.slow += other.slow;
  sum.tokens += other.tokens;
  sum.bytes += other.bytes;
}

function count(totals: Totals, outcome: Outcome, isPatient: boolean, good: boolean): void {
  totals[outcome.kind] += 1;
  if (isPatient && outcome.kind !== 'interrupted') totals.asked += 1;
  if (good) totals.good += 1;
}

/** Times as seen by a caller that arrived at the intended instant, even if the client sent the request late. */
function timesOf(request: Finished): RequestTimes {
  const hasFirst = request.firstAt > 0;
  return {
    ttftMs: hasFirst ? request.firstAt - request.intendedAt : undefined,
    tpotMs:
      hasFirst && request.tokens > 1 ? (request.lastAt - request.firstAt) / (request.tokens - 1) : undefined,
    endToEndMs: request.endedAt - request.intendedAt,
    isStream: request.isStream,
  };
}
