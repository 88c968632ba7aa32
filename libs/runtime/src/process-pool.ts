import { type ChildProcess, fork } from 'node:child_process';
import { z } from 'zod';
import type { Environment } from './environment.ts';
import type { Logger } from './logger.ts';

const firstRestartMs = 100;
const lastRestartMs = 5_000;
/** A process that lived this long has earned a restart without delay. */
const healthyAfterMs = 10_000;
/** Beyond a process's own drain limit. */
const killAfterMs = 5_000;

const readyMessage = z.looseObject({
  type: z.literal('ready'),
  pid: z.number(),
  opsPort: z.number(),
  port: z.number().optional(),
});
/** What a process says when it serves, see `Lifecycle.announceReady`. */
export type ReadyProcess = z.output<typeof readyMessage>;

export interface ProcessPoolOptions {
  /** The program's file; it runs with an IPC channel and this process's standard output and error. */
  entry: string;
  /** The environment of the process that is about to start in a seat, after so many that ended there unasked. */
  environmentOf(seat: number, restarts: number): Environment;
  /** How long a process may drain before it is killed, milliseconds. */
  drainLimitMs: number;
  logger: Logger;
  /** Told the moment a process is dead, planned or not, with the environment that it had. */
  onExit?(environment: Environment): void;
}

/** Processes of one program under this one, each in a seat where a successor takes its place when it dies. */
export class ProcessPool {
  private readonly seats: Seat[] = [];
  private readonly options: ProcessPoolOptions;

  constructor(options: ProcessPoolOptions) {
    this.options = options;
    // An impatient operator ends this process at once, and must not be left with those under it.
    process.once('exit', () => {
      for (const seat of this.seats) seat.leave();
    });
  }

  /**
   * Starts one more process and resolves when it serves. If it ends before, this process exits with 1: the
   * child has said why on the same standard error, and a restart does not mend a mistake.
   */
  add(): Promise<ReadyProcess> {
    const seat = new Seat(this.seats.length, this.options);
    this.seats.push(seat);
    return seat.start();
  }

  /** Lets all processes drain and resolves when they have ended. */
  async stop(): Promise<void> {
    await Promise.all(this.seats.map((seat) => seat.stop()));
  }
}

type OnExit = (code: number | null, signal: NodeJS.Signals | null) => void;

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
    return new Promise((resolve) => {
      let isServing = false;
      const child = this.spawn((code, signal) => {
        if (isServing) this.ended(child, code, signal);
        else if (!this.isStopping) process.exit(1);
      });
      child.on('message', (message) => {
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
      const timer = setTimeout(() => child.kill('SIGKILL'), this.options.drainLimitMs + killAfterMs);
      child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      child.kill('SIGTERM');
    });
  }

  /** This process goes: one that drains already was given its time, any other begins. */
  leave(): void {
    this.child?.kill(this.isStopping ? 'SIGKILL' : 'SIGTERM');
  }

  private spawn(onExit: OnExit): ChildProcess {
    const environment = this.options.environmentOf(this.index, this.restarts);
    const child = fork(this.options.entry, {
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child = child;
    child.once('exit', (code, signal) => {
      this.options.onExit?.(environment);
      onExit(code, signal);
    });
    return child;
  }

  private ended(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.isStopping) return;
    const delayMs = this.failures === 0 ? 0 : Math.min(lastRestartMs, firstRestartMs * 2 ** this.failures);
    this.failures += 1;
    // `pid` is the writer's own in every line.
    const ended = { process: child.pid, code, signal, restartInMs: delayMs };
    this.options.logger.error(ended, 'process ended');
    this.restart = setTimeout(() => {
      this.restarts += 1;
      const forgive = setTimeout(() => {
        this.failures = 0;
      }, healthyAfterMs);
      const next = this.spawn((nextCode, nextSignal) => {
        clearTimeout(forgive);
        this.ended(next, nextCode, nextSignal);
      });
    }, delayMs);
  }
}
