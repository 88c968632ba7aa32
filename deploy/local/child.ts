import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { SluiceError } from '@sluice/canonical';
import { type Clock, threadOptions } from '@sluice/runtime';
import { z } from 'zod';

const member = z.object({
  pid: z.number(),
  opsPort: z.number(),
  /** Of a worker: the pools that it serves by now. */
  pools: z.array(z.string()).optional(),
});

/** What a program reports over IPC when it serves. */
const readyMessage = z.looseObject({
  type: z.literal('ready'),
  pid: z.number(),
  opsPort: z.number().optional(),
  /** From a supervisor: the processes that serve under it. */
  ingresses: z.array(member).optional(),
  workers: z.array(member).optional(),
});
export type ReadyMessage = z.output<typeof readyMessage>;

export interface ChildOptions {
  /** Its name for people, as `worker 2`. */
  name: string;
  /** Path of the program. */
  entry: string;
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  /** Called when the program ended without having been asked to, and when it serves again. */
  say(sentence: string): void;
}

const firstDelayMs = 250;
const longestDelayMs = 5_000;
/** A program that lived this long before it crashed restarts without the longer delay. */
const steadyMs = 30_000;

/**
 * Keeps one of our programs running: when it ends unasked, it is started again, after a delay that doubles. The program
 * has a session of its own, so that Ctrl-C reaches it only through `stop`, and an IPC channel, by which it learns of
 * this process's death.
 */
export class Child {
  private readonly options: ChildOptions;
  private readonly stopped = new AbortController();
  private current: ChildProcess | undefined;
  private delayMs = firstDelayMs;

  constructor(options: ChildOptions) {
    this.options = options;
  }

  get name(): string {
    return this.options.name;
  }

  /** Resolves when the program serves. Rejects if it ends first, or when `signal` aborts. */
  async start(signal: AbortSignal): Promise<ReadyMessage> {
    const child = this.launch();
    const ready = await waitForReady(child, AbortSignal.any([signal, this.stopped.signal]));
    if (ready === undefined) {
      throw new SluiceError('unavailable', `${this.name} ended before it served (${describeExit(child)})`);
    }
    void this.keepRunning(child);
    return ready;
  }

  /** Asks the program to drain, and kills it if that takes longer than `limitMs`. Idempotent. */
  async stop(limitMs: number): Promise<void> {
    this.stopped.abort();
    const child = this.current;
    if (!child || hasEnded(child)) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const limit = this.options.clock.after(limitMs, () => killFamily(child));
    await exited;
    limit.cancel();
  }

  /** Ends the program at once. */
  kill(): void {
    this.stopped.abort();
    if (this.current) killFamily(this.current);
  }

  private launch(): ChildProcess {
    const { entry, environment } = this.options;
    this.current = fork(entry, [], {
      env: environment,
      execArgv: [...threadOptions],
      detached: true,
      // Logs of every process belong on stderr: stdout may be a machine's.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    return this.current;
  }

  private async keepRunning(first: ChildProcess): Promise<void> {
    const { clock, say } = this.options;
    for (let child = first; ; child = this.launch()) {
      const startedAt = clock.monotonic();
      // `start` has waited for the first one.
      const ready =
        child === first ? 'served' : await waitForReady(child, this.stopped.signal).catch(() => undefined);
      if (ready !== undefined && ready !== 'served') say(`${this.name} serves again (process ${ready.pid})`);
      if (!hasEnded(child)) await once(child, 'exit');
      if (this.stopped.signal.aborted) return;
      if (clock.monotonic() - startedAt > steadyMs) this.delayMs = firstDelayMs;
      say(`${this.name} ended (${describeExit(child)}), starting it again in ${this.delayMs} ms`);
      const isStopped = await clock.sleep(this.delayMs, this.stopped.signal).then(
        () => false,
        () => true,
      );
      if (isStopped) return;
      this.delayMs = Math.min(this.delayMs * 2, longestDelayMs);
    }
  }
}

/** Waits until the program serves. Undefined if it ended first. */
async function waitForReady(child: ChildProcess, signal: AbortSignal): Promise<ReadyMessage | undefined> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const said = async () => {
    for (;;) {
      const [message] = await once(child, 'message', { signal: either });
      const parsed = readyMessage.safeParse(message);
      if (parsed.success) return parsed.data;
    }
  };
  const ended = once(child, 'exit', { signal: either }).then(() => undefined);
  try {
    return await Promise.race([said(), ended]);
  } finally {
    over.abort();
    ended.catch(() => undefined);
  }
}

/**
 * Kills the program's whole session: a supervisor's processes would otherwise drain for their full limit once it is
 * gone.
 */
function killFamily({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole session has ended already.
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function describeExit(child: ChildProcess): string {
  return child.signalCode ?? `code ${child.exitCode}`;
}
