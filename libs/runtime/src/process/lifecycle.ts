import { SluiceError } from '@sluice/canonical';
import type { Logger } from '../logging/logger.ts';
import { type Clock, systemClock, type Timer } from '../time/clock.ts';

/** The part of `process` that a lifecycle needs. `send` exists if the process has an IPC channel. */
export interface ProcessEvents {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  send?: ((message: object) => unknown) | undefined;
}

/** How long the stages of a drain may take, and what a test may replace. */
export interface LifecycleOptions {
  logger: Logger;
  /** How long work in flight may go on after the first signal, milliseconds. */
  drainLimitMs: number;
  /** How long steps may take after the limit aborted them, before the process exits with 1; default 2,000. */
  closeLimitMs?: number;
  exit?: (code: number) => void;
  processEvents?: ProcessEvents;
  clock?: Clock;
}

/**
 * Finishes or closes one thing. When `signal` aborts, the drain limit has been reached: the step must end what is left
 * at once (in-band errors, sockets closed) and resolve within the close limit.
 */
export type DrainStep = (signal: AbortSignal) => Promise<void>;

/** The life of a process from its start to its exit. */
export interface Lifecycle {
  /** Aborts when the drain begins, for readiness checks and accept loops. */
  readonly draining: AbortSignal;
  /**
   * Registers a step. Steps run one after another, in reverse order of registration: Redis is opened first, registers
   * its close first, and is closed last. A step that fails is logged, and the next one runs. Call it right after
   * opening a thing.
   */
  onDrain(name: string, step: DrainStep): void;
  /** Tells the parent process, if there is an IPC channel, that this one serves: `{ type: 'ready', ...info }`. */
  announceReady(info: object): void;
  /** Begins the drain as a signal would. Further calls change nothing. */
  drain(reason: string): void;
}

/** The longest drain after an uncaught exception, which leaves an unknown state. */
const fatalDrainLimitMs = 5_000;
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/**
 * Signals within this time count as one. A single Ctrl-C reaches a process twice, from the terminal and from its
 * parent, and must not be taken for the second one of an impatient user.
 */
const sameKeypressMs = 500;

/**
 * Connects the process to its signals. The first SIGTERM, SIGINT or SIGHUP, or the loss of the parent, drains the
 * process, which exits with 0 if every step succeeded, else with 1. A second signal exits with 1 at once. An uncaught
 * exception or rejection is logged, and the process drains briefly and exits with 1.
 */
export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const lifecycle = new ProcessLifecycle(options);
  lifecycle.listen();
  return lifecycle;
}

class ProcessLifecycle implements Lifecycle {
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly exit: (code: number) => void;
  private readonly processEvents: ProcessEvents;
  private readonly options: LifecycleOptions;
  private readonly steps: { name: string; step: DrainStep }[] = [];
  private readonly began = new AbortController();
  private readonly limit = new AbortController();
  private beganAt = 0;
  private limitTimer: Timer | undefined;
  private current = 'nothing';
  private isFatal = false;
  private hasExited = false;

  constructor(options: LifecycleOptions) {
    this.options = options;
    this.logger = options.logger;
    this.clock = options.clock ?? systemClock;
    this.exit = options.exit ?? ((code) => process.exit(code));
    this.processEvents = options.processEvents ?? process;
  }

  get draining(): AbortSignal {
    return this.began.signal;
  }

  listen(): void {
    for (const signal of signals) this.processEvents.on(signal, () => this.receive(signal));
    if (this.processEvents.send) this.processEvents.on('disconnect', () => this.drain('disconnect'));
    this.processEvents.on('uncaughtException', (error) => this.fail(error, 'uncaught exception'));
    this.processEvents.on('unhandledRejection', (error) => this.fail(error, 'unhandled rejection'));
  }

  onDrain(name: string, step: DrainStep): void {
    this.steps.push({ name, step });
  }

  announceReady(info: object): void {
    this.processEvents.send?.({ type: 'ready', ...info });
  }

  drain(reason: string): void {
    this.begin(reason, this.options.drainLimitMs);
  }

  private receive(signal: string): void {
    if (!this.began.signal.aborted) {
      this.drain(signal);
      return;
    }
    if (this.clock.monotonic() - this.beganAt < sameKeypressMs) return;
    this.logger.warn({ signal, step: this.current }, 'second signal, exit without waiting');
    this.end(1);
  }

  private fail(error: unknown, what: string): void {
    this.isFatal = true;
    this.logger.fatal(
      {
        err:
          error instanceof Error ? error : new SluiceError('internal', 'a value that is no error was thrown'),
      },
      what,
    );
    this.begin(what, Math.min(fatalDrainLimitMs, this.options.drainLimitMs));
  }

  /** Begins the drain, unless it has begun. */
  private begin(reason: string, limitMs: number): void {
    if (this.began.signal.aborted) return;
    this.beganAt = this.clock.monotonic();
    this.logger.info({ reason, limitMs }, 'drain begins');
    this.limitTimer = this.clock.after(limitMs, () => this.reachLimit());
    this.began.abort();
    void this.runSteps();
  }

  private async runSteps(): Promise<void> {
    let allSucceeded = true;
    for (let entry = this.steps.pop(); entry; entry = this.steps.pop()) {
      this.current = entry.name;
      try {
        await entry.step(this.limit.signal);
      } catch (error) {
        allSucceeded = false;
        this.logger.error({ err: error, step: entry.name }, 'drain step failed');
      }
    }
    const durationMs = Math.round(this.clock.monotonic() - this.beganAt);
    this.logger.info({ durationMs, limitReached: this.limit.signal.aborted }, 'drain ends');
    this.end(allSucceeded && !this.isFatal ? 0 : 1);
  }

  private reachLimit(): void {
    this.logger.warn({ step: this.current }, 'drain limit reached, what is left is ended');
    this.limitTimer = this.clock.after(this.options.closeLimitMs ?? 2_000, () => {
      this.logger.error({ step: this.current }, 'drain step did not end, exit');
      this.end(1);
    });
    this.limit.abort(new SluiceError('unavailable', 'the process stops', { detail: 'drained' }));
  }

  private end(code: number): void {
    if (this.hasExited) return;
    this.hasExited = true;
    this.limitTimer?.cancel();
    this.exit(code);
  }
}
