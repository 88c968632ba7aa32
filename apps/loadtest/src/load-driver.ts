import { assertNever } from '@sluice/canonical';
import { arrivalInstants, peakRate } from './arrivals.ts';
import type { Clock } from './clock.ts';
import { ClosedDriver } from './closed-driver.ts';
import { OpenDriver } from './open-driver.ts';
import { createRandom } from './random.ts';
import type { Scenario } from './scenario.ts';
import type { TraceEntry } from './trace.ts';

/** One process's part of a run. */
export interface Share {
  index: number;
  of: number;
}

/** What a driver starts requests with. */
export interface DriverOptions {
  scenario: Scenario;
  share: Share;
  trace: readonly TraceEntry[] | undefined;
  clock: Clock;
  /** Instant of the host's clock at which the run starts. */
  startAt: number;
  /** Begins a request and tells whether it is measured; `over` is called at its end. */
  begin(arrival: number, intendedAt: number, trace: TraceEntry | undefined, over: () => void): boolean;
  /** No further request will begin. */
  exhausted(): void;
}

/** Decides when requests start. */
export interface LoadDriver {
  start(): void;
  /** No further request is begun. */
  stop(): void;
  /** How long measured requests kept coming, in milliseconds: what rates are counted over. Asked when all are over. */
  measuredMs(): number;
}

/** The driver of the scenario's kind of load. */
export function createDriver(options: DriverOptions): LoadDriver {
  const { load } = options.scenario;
  switch (load.kind) {
    case 'open': {
      const random = createRandom(options.scenario.seed);
      const instants = arrivalInstants(load.profile, load.spacing, random);
      return new OpenDriver(options, instants, peakRate(load.profile) / options.share.of);
    }
    case 'trace':
      return new OpenDriver(options, traceInstants(options.trace ?? []), 1000);
    case 'closed':
      return new ClosedDriver(options, load);
    default:
      return assertNever(load);
  }
}

function* traceInstants(trace: readonly TraceEntry[]): Generator<number> {
  for (const { atMs } of trace) yield atMs;
}
