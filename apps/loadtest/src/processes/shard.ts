import { Pool } from '@sluice/http';
import { createDriver } from '../arrivals/create-driver.ts';
import type { LoadDriver, LoadEnd, Over, Share } from '../arrivals/load-driver.ts';
import type { TraceEntry } from '../arrivals/trace.ts';
import type { Clock } from '../clock.ts';
import { formatNames } from '../dialects/dialect.ts';
import { dialects } from '../dialects/registry.ts';
import { halfMs } from '../measures/falling-behind.ts';
import { type Half, Halves } from '../measures/halves.ts';
import { type Interval, type MetricName, metricNames, Recorder, type Totals } from '../measures/recorder.ts';
import { type SelfLoad, SelfWatch } from '../measures/self-watch.ts';
import { type Done, Throughput } from '../measures/throughput.ts';
import { createRandom } from '../random.ts';
import { Exchange, type ExchangeContext } from '../requests/exchange.ts';
import { createRequestFactory, type RequestFactory } from '../requests/request-factory.ts';
import { LineShape } from '../requests/sse-scanner.ts';
import { expectRepetition, expectText } from '../requests/text-check.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { parseTarget } from '../scenario/target.ts';

/** All that one process needs for its share of a run. Plain data: it travels between processes. */
export interface ShardPlan {
  scenario: Scenario;
  share: Share;
  /** Instant of the host's clock. */
  startAt: number;
  keys: readonly string[];
  promptFiles: Readonly<Record<string, readonly string[]>>;
  trace: readonly TraceEntry[] | undefined;
  /** The text that every answer must have; absent: not checked. */
  expectedText: string | undefined;
}

/** What one process measured. Plain data. */
export interface ShardResult {
  totals: Totals;
  errors: readonly (readonly [string, number])[];
  warmupWrongText: readonly (readonly [string, number])[];
  /** Encoded histograms. */
  metrics: Record<MetricName, string>;
  self: SelfLoad;
  connectionsOpened: number;
  requestsRepeated: number;
  /** Requests that were due, but could not begin before the grace was over. */
  unsent: number;
  /** Measured requests for which no connection was free. */
  connectionWaits: number;
  /** Measured streams that ended well without any content. */
  emptyStreams: number;
  /** Whole answers whose text was read, and how many of them could be compared with a reference. */
  texts: { read: number; compared: number };
  /** Whether too many requests were in flight, so that the load ended early. */
  isOverrun: boolean;
  /** How long measured requests kept coming, in milliseconds. */
  measuredMs: number;
  throughput: Done;
  /** Measured answers by the half of the load in which their requests were due. */
  halves: { first: Half; second: Half };
}

/** Where a running shard reports to. */
export interface ShardOptions {
  clock: Clock;
  onInterval(interval: Interval): void;
  /** Ends the run early: no more requests arrive, and those in flight are abandoned. */
  signal: AbortSignal;
}

const sweepMs = 50;
const intervalMs = 1000;

/** Runs one process's share of a load test to its end. */
export function runShard(plan: ShardPlan, options: ShardOptions): Promise<ShardResult> {
  return new ShardRun(plan, options).run();
}

class ShardRun {
  private readonly plan: ShardPlan;
  private readonly options: ShardOptions;
  private readonly throughput: Throughput;
  private readonly halves: Halves;
  private readonly recorder: Recorder;
  private readonly pool: Pool;
  private readonly factory: RequestFactory;
  private readonly driver: LoadDriver;
  private readonly context: ExchangeContext;
  private readonly watch = new SelfWatch();
  /** How busy the client was up to the last second in which requests began. */
  private self: SelfLoad | undefined;
  /** In the order in which they could be sent, hence of expiry. */
  private readonly inFlight = new Set<Exchange>();
  private readonly continuations = new Map<Exchange, Over>();
  private readonly timers: NodeJS.Timeout[] = [];
  private intervalTimer: NodeJS.Timeout | undefined;
  private interval = 0;
  private isExhausted = false;
  private isInterrupted = false;
  private isOverrun = false;
  private connectionWaits = 0;
  private readonly ended = Promise.withResolvers<void>();

  constructor(plan: ShardPlan, options: ShardOptions) {
    const { scenario, share } = plan;
    const { clock } = options;
    const target = parseTarget(scenario.target);
    this.plan = plan;
    this.options = options;
    this.throughput = new Throughput(plan.startAt + scenario.warmupMs, plan.startAt + scenario.durationMs);
    this.halves = new Halves(plan.startAt + scenario.warmupMs + halfMs(scenario));
    this.recorder = new Recorder(scenario.slo, this.throughput, this.halves);
    this.pool = new Pool({
      origin: target.origin,
      maxConnections: scenario.maxConnections,
      connectTimeoutMs: scenario.timeoutMs,
      now: () => clock.now(),
      onConnected: (ms) => {
        if (clock.now() >= plan.startAt + scenario.warmupMs) this.recorder.metrics.connect.record(ms);
      },
    });
    const random = createRandom(scenario.seed + 104_729 * (share.index + 1));
    this.factory = createRequestFactory({ ...plan, target, random });
    this.driver = createDriver({
      ...plan,
      clock,
      begin: (arrival, intendedAt, trace, over, readyAt) =>
        this.begin(arrival, intendedAt, trace, over, readyAt),
      exhausted: (end, endAt) => this.exhausted(end, endAt),
    });
    this.context = {
      clock,
      recorder: this.recorder,
      shapes: Object.fromEntries(formatNames.map((format) => [format, new LineShape(dialects[format])])),
      verifiesTokens: scenario.verify === 'tokens',
      checker:
        plan.expectedText !== undefined
          ? expectText(plan.expectedText)
          : scenario.verify === 'repeat'
            ? expectRepetition()
            : undefined,
      leave: (exchange) => this.pool.abort(exchange),
      over: (exchange) => this.over(exchange),
      runEnd: () => (this.isInterrupted ? 'interrupted' : 'unfinished'),
    };
  }

  async run(): Promise<ShardResult> {
    const { scenario, startAt } = this.plan;
    const { signal } = this.options;
    const stop = () => this.stop();
    signal.addEventListener('abort', stop, { once: true });
    this.startWatch();
    const untilStartMs = Math.max(0, startAt - this.options.clock.now());
    this.timers.push(
      setTimeout(() => this.driver.start(), untilStartMs),
      setTimeout(() => this.startWatch(), untilStartMs + scenario.warmupMs),
      setInterval(() => this.sweep(), sweepMs),
    );
    this.scheduleInterval();
    if (signal.aborted) stop();
    await this.ended.promise;
    signal.removeEventListener('abort', stop);
    for (const timer of [...this.timers, this.intervalTimer]) clearTimeout(timer);
    this.pool.close();
    this.closeInterval(false);
    const self = this.self ?? this.watch.read();
    this.watch.stop();
    return this.result(self);
  }

  private startWatch(): void {
    this.watch.start();
    this.self = undefined;
  }

  private begin(
    arrival: number,
    intendedAt: number,
    trace: TraceEntry | undefined,
    over: Over,
    readyAt = intendedAt,
  ): boolean {
    const request = this.factory(arrival, trace);
    const { scenario } = this.plan;
    const { warmupMs } = scenario;
    // A timer may fire a little early; without a warm-up the first request must still be measured.
    const isMeasured = warmupMs === 0 || intendedAt >= this.plan.startAt + warmupMs;
    const exchange = new Exchange(request, this.context, intendedAt, readyAt, isMeasured);
    this.inFlight.add(exchange);
    this.continuations.set(exchange, over);
    this.recorder.arrived(exchange.isSlow, isMeasured);
    this.pool.send(exchange);
    if (isMeasured && this.inFlight.has(exchange) && !exchange.connection) this.connectionWaits += 1;
    if (this.inFlight.size >= scenario.maxInFlight) this.overrun();
    return isMeasured;
  }

  private overrun(): void {
    this.isOverrun = true;
    this.throughput.stop(this.options.clock.now());
    this.driver.stop();
  }

  private over(exchange: Exchange): void {
    this.inFlight.delete(exchange);
    const next = this.continuations.get(exchange);
    this.continuations.delete(exchange);
    next?.(exchange.retryWaitMs);
    this.endIfDone();
  }

  private exhausted(end: LoadEnd, endAt: number): void {
    if (this.isExhausted) return;
    this.isExhausted = true;
    if (end === 'used-up') this.throughput.usedUp(endAt);
    this.timers.push(
      // Requests that are in flight or wait then fail as closed by us.
      setTimeout(() => this.pool.close(), this.plan.scenario.graceMs),
    );
    this.endIfDone();
  }

  private stop(): void {
    this.throughput.stop(this.options.clock.now());
    this.isInterrupted = true;
    this.driver.stop();
    this.pool.close();
  }

  private endIfDone(): void {
    if (this.isExhausted && this.inFlight.size === 0) this.ended.resolve();
  }

  private sweep(): void {
    const bound = this.options.clock.now() - this.plan.scenario.timeoutMs;
    for (const exchange of this.inFlight) {
      // Not from the intended instant: a user that can't keep its pace would leave every answer after a few minutes.
      if (exchange.readyAt > bound) return;
      exchange.expire('timeout');
    }
  }

  private scheduleInterval(): void {
    const closesAt = this.plan.startAt + (this.interval + 1) * intervalMs;
    this.intervalTimer = setTimeout(
      () => {
        this.closeInterval(true);
        // A client that could not keep up has skipped seconds, which stay empty.
        const now = this.options.clock.now();
        this.interval = Math.max(this.interval + 1, Math.floor((now - this.plan.startAt) / intervalMs));
        this.scheduleInterval();
      },
      Math.max(0, closesAt - this.options.clock.now()),
    );
  }

  private closeInterval(isWhole: boolean): void {
    const interval = this.recorder.takeInterval(this.interval, isWhole);
    // The wait for the last answers would hide how busy the client was with the load.
    if (interval.offered > 0) this.self = this.watch.read();
    this.options.onInterval(interval);
  }

  private result(self: SelfLoad): ShardResult {
    const { recorder, pool, driver } = this;
    const { read = 0, compared = 0 } = this.context.checker ?? {};
    const encoded = metricNames.map((name) => [name, recorder.metrics[name].encode()] as const);
    return {
      totals: recorder.totals,
      errors: [...recorder.errors],
      warmupWrongText: [...recorder.warmupWrongText],
      // The list of names is complete, so every key is there.
      metrics: Object.fromEntries(encoded) as Record<MetricName, string>,
      self,
      connectionsOpened: pool.opened,
      requestsRepeated: pool.repeated,
      unsent: driver.unsent(),
      connectionWaits: this.connectionWaits,
      emptyStreams: recorder.emptyStreams,
      texts: { read, compared },
      isOverrun: this.isOverrun,
      measuredMs: driver.measuredMs(),
      throughput: this.throughput.done(),
      halves: { first: this.halves.first, second: this.halves.second },
    };
  }
}
