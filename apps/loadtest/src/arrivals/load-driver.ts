import type { Clock } from '../clock.ts';
import type { Scenario } from '../scenario/scenario.ts';
import type { TraceEntry } from './trace.ts';

/** One process's part of a run. */
export interface Share {
  index: number;
  of: number;
}

/** Why no further request begins: the time is over, all requests have begun, or the load was stopped. */
export type LoadEnd = 'time' | 'used-up' | 'stopped';
/** Called when a request is over; `retryWaitMs` is how long its caller was asked to wait before the next one. */
export type Over = (retryWaitMs: number) => void;

/** What a driver needs. */
export interface DriverOptions {
  scenario: Scenario;
  share: Share;
  trace: readonly TraceEntry[] | undefined;
  clock: Clock;
  /** Instant of the host's clock at which the run starts. */
  startAt: number;
  /**
   * Begins a request and returns whether it is measured; `over` is called at its end. `readyAt` is the instant before
   * which it could not be sent, since its user still waited for an answer; absent: its intended instant.
   */
  begin(
    arrival: number,
    intendedAt: number,
    trace: TraceEntry | undefined,
    over: Over,
    readyAt?: number,
  ): boolean;
  /** No further request will begin; `endAt` is the instant up to which requests were to come. */
  exhausted(end: LoadEnd, endAt: number): void;
}

/** Decides when requests start. */
export interface LoadDriver {
  start(): void;
  /** No further request is begun. */
  stop(): void;
  /** How long measured requests kept coming, in milliseconds: the time that rates refer to. Valid when all are over. */
  measuredMs(): number;
  /** Requests that were due, but could not begin before the grace was over. Valid when all are over. */
  unsent(): number;
}
