import type { Clock } from '../clock.ts';
import type { Scenario } from '../scenario/scenario.ts';
import type { TraceEntry } from './trace.ts';

/** One process's part of a run. */
export interface Share {
  index: number;
  of: number;
}

/** Why no further request begins: its time is over, all that it had to begin has begun, or it was told to stop. */
export type LoadEnd = 'time' | 'used-up' | 'stopped';
/** A request is over, and its caller was asked to wait so long, in milliseconds, before the next one. */
export type Over = (retryWaitMs: number) => void;

/** What a driver starts requests with. */
export interface DriverOptions {
  scenario: Scenario;
  share: Share;
  trace: readonly TraceEntry[] | undefined;
  clock: Clock;
  /** Instant of the host's clock at which the run starts. */
  startAt: number;
  /**
   * Begins a request and tells whether it is measured; `over` is called at its end. Before `readyAt` it could not have
   * been sent, for its user still waited for an answer; absent: it could at its intended instant.
   */
  begin(
    arrival: number,
    intendedAt: number,
    trace: TraceEntry | undefined,
    over: Over,
    readyAt?: number,
  ): boolean;
  /** No further request will begin. */
  exhausted(end: LoadEnd): void;
}

/** Decides when requests start. */
export interface LoadDriver {
  start(): void;
  /** No further request is begun. */
  stop(): void;
  /** How long measured requests kept coming, in milliseconds: what rates are counted over. Asked when all are over. */
  measuredMs(): number;
}
