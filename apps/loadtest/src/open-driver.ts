import type { DriverOptions, LoadDriver } from './load-driver.ts';

/** Below this rate a process polls for the exact instant; above it, that would burn a core for nothing. */
const preciseBelowRate = 250;
const timerSlackMs = 1.5;

/** Starts requests at their instants, whatever became of those before. */
export class OpenDriver implements LoadDriver {
  private readonly options: DriverOptions;
  private readonly instants: Iterator<number>;
  private readonly isPrecise: boolean;
  private arrival = -1;
  private dueAt = 0;
  private isStopped = false;
  private lastAt = 0;
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
    this.end();
    clearTimeout(this.timer);
  }

  measuredMs(): number {
    const { scenario, startAt } = this.options;
    return this.lastAt - startAt - scenario.warmupMs;
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
        this.end();
        this.options.exhausted();
        return;
      }
      if (this.arrival % share.of !== share.index) continue;
      this.dueAt = startAt + next.value;
      return;
    }
  }

  private end(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.lastAt = this.options.clock.now();
  }
}

function ignore(): void {}
