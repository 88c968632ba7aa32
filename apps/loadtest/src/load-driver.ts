import { assertNever } from '@sluice/canonical';
import { arrivalInstants, peakRate } from './arrivals.ts';
import type { Clock } from './clock.ts';
import { sample } from './distribution.ts';
import { createRandom, type Random } from './random.ts';
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
  /** Begins a request; `over` is called at its end. */
  begin(arrival: number, intendedAt: number, trace: TraceEntry | undefined, over: () => void): void;
  /** All arrivals have been begun. */
  exhausted(): void;
}

/** Decides when requests start. */
export interface LoadDriver {
  start(): void;
  /** No further request is begun. */
  stop(): void;
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

/** Below this rate a process polls for the exact instant; above it, that would burn a core for nothing. */
const preciseBelowRate = 250;
const timerSlackMs = 1.5;

/** Starts requests at their instants, whatever became of those before. */
class OpenDriver implements LoadDriver {
  private readonly options: DriverOptions;
  private readonly instants: Iterator<number>;
  private readonly isPrecise: boolean;
  private arrival = -1;
  private dueAt = 0;
  private isStopped = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: DriverOptions, instants: Iterator<number>, rate: number) {
    this.options = options;
    this.instants = instants;
    this.isPrecise = rate < preciseBelowRate;
  }

  start(): void {
    this.advance();
    this.tick();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private readonly tick = (): void => {
    const { clock, trace } = this.options;
    while (!this.isStopped && this.dueAt <= clock.now()) {
      this.options.begin(this.arrival, this.dueAt, trace?.[this.arrival], ignore);
      this.advance();
    }
    if (this.isStopped) return;
    const waitMs = this.dueAt - clock.now();
    if (this.isPrecise && waitMs <= timerSlackMs) setImmediate(this.tick);
    else this.timer = setTimeout(this.tick, this.isPrecise ? waitMs - timerSlackMs : waitMs);
  };

  /** Every process draws the same arrivals and takes its own of them, so the whole is one exact process. */
  private advance(): void {
    const { scenario, share, startAt } = this.options;
    for (;;) {
      const next = this.instants.next();
      this.arrival += 1;
      const isPast = next.done === true || next.value >= scenario.durationMs;
      if (isPast || this.arrival >= (scenario.requests ?? Infinity)) {
        this.isStopped = true;
        this.options.exhausted();
        return;
      }
      if (this.arrival % share.of !== share.index) continue;
      this.dueAt = startAt + next.value;
      return;
    }
  }
}

/** A number of users, each with one request at a time. */
class ClosedDriver implements LoadDriver {
  private readonly options: DriverOptions;
  private readonly load: Extract<Scenario['load'], { kind: 'closed' }>;
  private readonly random: Random;
  private readonly users: number;
  private arrival: number;
  private active = 0;
  private isStopped = false;

  constructor(options: DriverOptions, load: Extract<Scenario['load'], { kind: 'closed' }>) {
    const { index, of } = options.share;
    this.options = options;
    this.load = load;
    this.random = createRandom(options.scenario.seed + 7919 * (index + 1));
    this.users = Math.floor(load.users / of) + (index < load.users % of ? 1 : 0);
    this.arrival = index;
  }

  start(): void {
    const { startAt } = this.options;
    this.active = this.users;
    if (this.users === 0) this.options.exhausted();
    for (let user = 0; user < this.users; user++) {
      // A paced user starts somewhere in its first period: all at once would be a burst nobody asked for.
      const { paceMs, rampUpMs } = this.load;
      this.later(startAt + (paceMs === undefined ? (rampUpMs * user) / this.users : this.random() * paceMs));
    }
  }

  stop(): void {
    this.isStopped = true;
  }

  private later(dueAt: number): void {
    const waitMs = dueAt - this.options.clock.now();
    // Without a pace nobody intends an instant: a late timer is no wait of the user's.
    const begin = () => this.request(this.load.paceMs === undefined ? this.options.clock.now() : dueAt);
    if (waitMs > 0) setTimeout(begin, waitMs);
    else begin();
  }

  private request(intendedAt: number): void {
    const { scenario, startAt, clock, share, trace } = this.options;
    const isOver = this.isStopped || clock.now() - startAt >= scenario.durationMs;
    if (isOver || this.arrival >= (scenario.requests ?? Infinity)) {
      this.active -= 1;
      if (this.active === 0) this.options.exhausted();
      return;
    }
    const arrival = this.arrival;
    this.arrival += share.of;
    this.options.begin(arrival, intendedAt, trace?.[arrival], () => {
      // Only after the connection is back in its pool, or each request would open another.
      queueMicrotask(() => this.later(this.nextAt(intendedAt)));
    });
  }

  private nextAt(intendedAt: number): number {
    const { paceMs, thinkMs } = this.load;
    return paceMs === undefined
      ? this.options.clock.now() + sample(thinkMs, this.random)
      : intendedAt + paceMs;
  }
}

function* traceInstants(trace: readonly TraceEntry[]): Generator<number> {
  for (const { atMs } of trace) yield atMs;
}

function ignore(): void {}
