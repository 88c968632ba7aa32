import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { SluiceError } from '@sluice/canonical';
import type { Clock } from '@sluice/runtime';
import { z } from 'zod';

const member = z.object({ pid: z.number(), opsPort: z.number() });

/** What a program says over IPC when it serves. */
const readyMessage = z.looseObject({
  type: z.literal('ready'),
  pid: z.number(),
  opsPort: z.number().optional(),
  /** Of a program that only watches over others: those that work. */
  ingresses: z.array(member).optional(),
  workers: z.array(member).optional(),
});
export type ReadyMessage = z.output<typeof readyMessage>;

export interface ChildOptions {
  /** For people, as `worker 2`. */
  name: string;
  /** Path of the program. */
  entry: string;
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  /** Told when the program ended without having been asked to, and when it serves again. */
  say(sentence: string): void;
}

const firstDelayMs = 250;
const longestDelayMs = 5_000;
/** After this time alive a crash counts as the first again. */
const steadyMs = 30_000;

/**
 * One program of the house that is kept running: when it ends unasked it is started again, after a delay that
 * doubles. It has a session of its own, so that Ctrl-C reaches it only through `stop`; and an IPC channel, by
 * which it learns of this process's death.
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

  /** Resolves when the program serves. Rejects when it ends before, or when `signal` aborts. */
  async start(signal: AbortSignal): Promise<ReadyMessage> {
    const child = this.launch();
    const ready = await waitForReady(child, AbortSignal.any([signal, this.stopped.signal]));
    if (ready === undefined) {
      throw new SluiceError('unavailable', `${this.name} ended before it served (${describeExit(child)})`);
    }
    void this.keepRunning(child);
    return ready;
  }

  /** Asks the program to drain and kills it when it takes longer than `limitMs`. Idempotent. */
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
      execArgv: [],
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
      // `first` has said it before.
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

/** Undefined when the program ended first. */
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

/** The processes of a supervisor, which share its session, would drain for as long as they may once it is gone. */
function killFamily({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function describeExit(child: ChildProcess): string {
  return child.signalCode ?? `code ${child.exitCode}`;
}
