import type { ShownScenario } from '../scenario/shown-scenario.ts';
import { LatencyHistogram, type LatencySummary } from './histogram.ts';
import type { MetricName, Totals } from './recorder.ts';
import type { SelfLoad } from './self-watch.ts';

/** What a run found: the JSON that a load test writes and that reports are made of. */
export interface RunResult {
  version: 1;
  name: string;
  /** ISO 8601. */
  startedAt: string;
  /** Present if the run or the search was interrupted. */
  isInterrupted?: true;
  /** The scenario after defaults; credentials are left out. */
  scenario: ShownScenario;
  /** How long requests were offered in the measured part, in milliseconds; 0 if all came at once. */
  measuredMs: number;
  /** Requests that arrived in the measured part. */
  totals: Totals;
  /**
   * Per second. `offered`, `refused` and `failed` are counted by arrival, over `measuredMs`, and are 0 if that is 0.
   * `tokens`, and in an open loop `ok` and `good`, are counted by when answers came.
   */
  rates: { offered: number; ok: number; good: number; refused: number; failed: number; tokens: number };
  /** Share of good requests among those that the objective applies to. */
  attainment: number;
  meetsSlo: boolean;
  /** Present if the server did less than a steady load asked of it: times would grow with the load's length. */
  fallsBehind?: FallingBehind;
  metrics: Record<MetricName, MetricResult>;
  /** How coordinated omission was dealt with. */
  correction: Correction;
  /** Failed and refused requests by class. */
  errors: Record<string, number>;
  /**
   * Answers with wrong text by class, whether or not they were measured: also those of the warm-up, and of all loads
   * that a search tried. Absent if there were none.
   */
  wrongText?: Record<string, number>;
  intervals: IntervalResult[];
  client: ClientResult;
  /** Present if a saturation search made this result. */
  search?: SearchResult;
}

/** How much longer answers took in the second half of a load. */
export interface FallingBehind {
  /** Mean times from the send to the end of an answer, in milliseconds, by when requests were due. */
  firstHalfMs: number;
  secondHalfMs: number;
}

/**
 * If requests had intended instants, latencies count from these. Users who wait for answers have none; for them, what
 * independent callers would have seen is estimated beside what was measured. The estimate takes every answer longer
 * than the interval for a stall, so it is meaningful only where answers should all take about the same time.
 */
export type Correction =
  | { by: 'intended-instant' }
  | {
      by: 'expected-interval';
      intervalMs: number;
      /** Absent if no request ended well. */
      estimate?: { ttft: MetricResult; endToEnd: MetricResult };
    };

/** Milliseconds; `hdr` is the whole histogram in the standard encoding, in microseconds. */
export interface MetricResult extends LatencySummary {
  hdr: string;
}

/**
 * One second of a run: `offered` and `slow` are those that began in it, all else is what ended or came in it. Latencies
 * are in milliseconds, and absent if nothing ended in it.
 */
export interface IntervalResult extends Totals {
  second: number;
  isMeasured: boolean;
  inFlight: number;
  ttftP50?: number;
  ttftP99?: number;
  endToEndP50?: number;
  endToEndP99?: number;
}

/** The client's own health. */
export interface ClientResult {
  processes: SelfLoad[];
  connectionsOpened: number;
  /** Requests sent again because the server had closed an idle connection. */
  requestsRepeated: number;
  isBottleneck: boolean;
  /** Why the figures are doubtful, in words. */
  findings: string[];
}

/** The highest load that met the objective, and the loads that were tried. */
export interface SearchResult {
  /** Requests per second; 0 if no load met the objective. */
  saturationRate: number;
  points: SearchPoint[];
}

/** One load of a search; rates per second, latencies in milliseconds. */
export interface SearchPoint {
  phase: 'search' | 'beyond';
  offeredRate: number;
  okRate: number;
  goodRate: number;
  refusedRate: number;
  failedRate: number;
  attainment: number;
  meetsSlo: boolean;
  /** Present if the server did less than was asked of it: the objective would not be met for longer. */
  fallsBehind?: true;
  /** Failed and refused requests by class. Absent in results of versions that did not keep them. */
  errors?: Record<string, number>;
  /** Absent if no answer had a first token. */
  ttftP50?: number;
  ttftP99?: number;
  /** Absent if nothing was answered. */
  endToEndP50?: number;
  endToEndP99?: number;
  isClientBottleneck: boolean;
}

/** Whether a load met its objective, and would for longer. */
export function isHeld(load: Pick<RunResult | SearchPoint, 'meetsSlo' | 'fallsBehind'>): boolean {
  return load.meetsSlo && !load.fallsBehind;
}

/** A metric's facts from its histogram. */
export function metricResult(histogram: LatencyHistogram): MetricResult {
  return { ...histogram.summary, hdr: histogram.encode() };
}

/** The histogram of a metric that was read from a file. */
export function metricHistogram(metric: MetricResult): LatencyHistogram {
  return LatencyHistogram.decode(metric.hdr);
}
