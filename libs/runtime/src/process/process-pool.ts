import { type ChildProcess, fork } from 'node:child_process';
import { z } from 'zod';
import type { Logger } from '../logging/logger.ts';
import type { Environment } from '../settings/environment.ts';
import { systemClock } from '../time/clock.ts';

/** The pause before the second restart in a row. The first has none, and every further pause is twice as long. */
const firstPauseMs = 200;
const longestPauseMs = 5_000;
/** A process that has lived this long is restarted without delay when it dies. */
const healthyAfterMs = 10_000;
/** How long after its own drain limit a process is killed. */
const killAfterMs = 5_000;
/** How much longer than the drain limit of its processes the `stop` of a pool may take, milliseconds. */
export const stopMarginMs = killAfterMs + 1_000;

const readyMessage = z.looseObject({
  type: z.literal('ready'),
  pid: z.number(),
  opsPort: z.number(),
  port: z.number().optional(),
  pools: z.array(z.string()).optional(),
});
/** What a process announces when it serves, see `Lifecycle.announceReady`. */
export type ReadyProcess = z.output<typeof readyMessage>;

/** What the processes of a pool run, and how they end. */
export interface ProcessPoolOptions {
  /** The program's file. It runs with an IPC channel and with the standard output and error of this process. */
  entry: string;
  /** The environment of the next process in a seat, in which `restarts` processes have ended unexpectedly. */
  environmentOf(seat: number, restarts: number): Environment;
  /** How long a process may drain before it is killed, milliseconds. */
  drainLimitMs: number;
  logger: Logger;
  /** Called as soon as a process has ended, planned or not, with its environment. */
  onExit?(environment: Environment): void;
}

/** Processes of one program under this one. Each has a seat, in which it is replaced when it dies. */
export class ProcessPool {
  private readonly seats: Seat[] = [];
  private readonly options: ProcessPoolOptions;

  constructor(options: ProcessPoolOptions) {
    this.options = options;
    // If an operator ends this process at once, the processes under it must not be left behind.
    process.once('exit', () => {
      for (const seat of this.seats) seat.leave();
    });
  }

  /**
   * Starts another process and resolves when it serves. Rejects if the system does not start it. If it ends before it
   * serves, this process exits with 1: the child has given the reason on the shared standard error, and a restart would
   * not mend it.
   */
  add(): Promise<ReadyProcess> {
    const seat = new Seat(this.seats.length, this.options);
    this.seats.push(seat);
    return seat.start();
  }

  /** Makes all processes drain, and resolves when they have ended. */
  async stop(): Promise<void> {
    await Promise.all(this.seats.map((seat) => seat.stop()));
  }
}

/** How a process ended, or why the system did not start it. */
type End = { child: ChildProcess; code: number | null; signal: NodeJS.Signals | null } | { error: unknown };

class Seat {
  private child: ChildProcess | undefined;
  private isStopping = false;
  private failures = 0;
  private restarts = 0;
  private restart: NodeJS.Timeout | undefined;
  private readonly index: number;
  private readonly options: ProcessPoolOptions;

  constructor(index: number, options: ProcessPoolOptions) {
    this.index = index;
    this.options = options;
  }

  start(): Promise<ReadyProcess> {
    return new Promise((resolve, reject) => {
      let isServing = false;
      const child = this.spawn((end) => {
        if (isServing) this.ended(end);
        else if ('error' in end) reject(end.error);
        else if (!this.isStopping) process.exit(1);
      });
      child?.on('message', (message) => {
        const ready = readyMessage.safeParse(message);
        if (!ready.success) return;
        isServing = true;
        resolve(ready.data);
      });
    });
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    clearTimeout(this.restart);
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      const limitMs = this.options.drainLimitMs + killAfterMs;
      const limit = systemClock.after(limitMs, () => child.kill('SIGKILL'));
      child.once('exit', () => {
        limit.cancel();
        resolve();
      });
      child.kill('SIGTERM');
    });
  }

  /**
   * Called when this process exits: a child that already drains has had its time and is killed, any other begins to
   * drain.
   */
  leave(): void {
    this.child?.kill(this.isStopping ? 'SIGKILL' : 'SIGTERM');
  }

  /** Calls `onEnd` once, even if there is no process. */
  private spawn(onEnd: (end: End) => void): ChildProcess | undefined {
    const environment = this.options.environmentOf(this.index, this.restarts);
    try {
      const child = fork(this.options.entry, {
        env: environment,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      this.child = child;
      child.once('exit', (code, signal) => {
        this.options.onExit?.(environment);
        onEnd({ child, code, signal });
      });
      // Without a listener, a system that is short of processes or files would end this process and all the others.
      child.on('error', (error) => {
        if (child.pid === undefined) onEnd({ error });
      });
      return child;
    } catch (error) {
      // What the system lacks is mostly told by the event, and memory by an exception.
      onEnd({ error });
      return undefined;
    }
  }

  private ended(end: End): void {
    if (this.isStopping) return;
    const { failures } = this;
    const restartInMs = failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
    this.failures += 1;
    if ('error' in end) {
      this.options.logger.error({ err: end.error, restartInMs }, 'process not started');
    } else {
      this.restarts += 1;
      const { child, code, signal } = end;
      // The field is not named `pid`, because that is the logging process's own in every line.
      this.options.logger.error({ process: child.pid, code, signal, restartInMs }, 'process ended');
    }
    this.restart = setTimeout(() => this.startAgain(), restartInMs);
  }

  private startAgain(): void {
    const forgive = setTimeout(() => {
      this.failures = 0;
    }, healthyAfterMs);
    this.spawn((end) => {
      clearTimeout(forgive);
      this.ended(end);
    });
  }
}
