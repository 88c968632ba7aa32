import { longestTimerMs } from '../clock.ts';
import type { DriverOptions, LoadDriver, LoadEnd } from './load-driver.ts';

const timerSlackMs = 1.5;
/** A driver that is behind yields after this time, so that answers, timers and interrupts are still handled. */
const longestTurnMs = 5;

/** When the requests of an open loop are due. */
export interface Arrivals {
  /** Milliseconds since the start, in order. */
  instants: Iterator<number>;
  /** Whether to poll for the exact instant of sending, since timers drop fractions. */
  isPrecise: boolean;
  /** Whether each arrival lies in the middle of its gap. */
  isEven: boolean;
}

/** Starts requests at their instants, whatever became of earlier ones. */
export class OpenDriver implements LoadDriver {
  private readonly options: DriverOptions;
  private readonly arrivals: Arrivals;
  private arrival = -1;
  private dueAt = 0;
  private isStopped = false;
  private dropped = 0;
  private lastMs = 0;
  private endMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: DriverOptions, arrivals: Arrivals) {
    this.options = options;
    this.arrivals = arrivals;
  }

  start(): void {
    this.advance();
    this.tick();
  }

  stop(): void {
    this.end('stopped', this.options.clock.now() - this.options.startAt);
    clearTimeout(this.timer);
  }

  measuredMs(): number {
    return Math.max(0, this.endMs - this.options.scenario.warmupMs);
  }

  private readonly tick = (): void => {
    const { clock, trace, scenario, startAt } = this.options;
    const since = clock.now();
    for (let now = since; this.dueAt <= now && now - since < longestTurnMs; now = clock.now()) {
      if (this.isStopped) return;
      if (now - startAt >= scenario.durationMs + scenario.graceMs) {
        this.giveUp();
        return;
      }
      this.options.begin(this.arrival, this.dueAt, trace?.[this.arrival], ignore);
      this.advance();
    }
    if (this.isStopped) return;
    const waitMs = this.dueAt - clock.now() - (this.arrivals.isPrecise ? timerSlackMs : 0);
    if (waitMs <= 0) setImmediate(this.tick);
    else this.timer = setTimeout(this.tick, Math.min(waitMs, longestTimerMs));
  };

  unsent(): number {
    return this.dropped;
  }

  /** The grace is over: what is still due is not sent any more, only counted. */
  private giveUp(): void {
    this.end('stopped', this.dueAt - this.options.startAt);
    do this.dropped += 1;
    while (this.advance());
  }

  /**
   * Goes on to the next arrival and returns whether there is one. Every process draws the same arrivals and takes its
   * own of them, so the whole is one exact process.
   */
  private advance(): boolean {
    const { share, startAt } = this.options;
    for (;;) {
      const next = this.arrivals.instants.next();
      this.arrival += 1;
      const end = this.endBefore(next.done === true ? undefined : next.value);
      if (end) {
        this.end(...end);
        return false;
      }
      this.lastMs = next.value;
      if (this.arrival % share.of !== share.index) continue;
      this.dueAt = startAt + next.value;
      return true;
    }
  }

  /**
   * How and when the load ends, if it ends before the arrival at `nextMs`; absent `nextMs`: there is no further
   * arrival.
   */
  private endBefore(nextMs: number | undefined): [LoadEnd, number] | undefined {
    const { durationMs, load, requests = Infinity } = this.options.scenario;
    const isWhole = this.arrival >= requests;
    if (nextMs === undefined) {
      // A rate may fall to 0 before the time is over. A trace without further arrivals is finished.
      if (isWhole || load.kind === 'trace') return ['used-up', this.lastMs + this.meanGapMs()];
      return ['time', durationMs];
    }
    if (nextMs >= durationMs) return ['time', durationMs];
    if (!isWhole) return undefined;
    const gapMs = nextMs - this.lastMs;
    return ['used-up', this.lastMs + (this.arrivals.isEven ? gapMs / 2 : gapMs)];
  }

  private meanGapMs(): number {
    return this.lastMs / Math.max(1, this.arrival - 1);
  }

  private end(end: LoadEnd, endMs: number): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.endMs = endMs;
    this.options.exhausted(end, this.options.startAt + endMs);
  }
}

function ignore(): void {}
