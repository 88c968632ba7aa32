import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** How a program is started. */
export interface StartProcessOptions {
  /** Added to PATH, HOME and NODE_COMPILE_CACHE, which are all that the child inherits. */
  environment?: Readonly<Record<string, string>>;
  /** Arguments of the program. Default: none. */
  arguments?: readonly string[];
  /** The root of the checkout whose program runs. Default: this one. */
  checkout?: string;
  /** How long the program may take until it is ready. Default: 50,000, for a crowded machine. */
  readyLimitMs?: number;
}

/** What one of our programs sends its parent over IPC when it is ready. */
export interface ReadyMessage {
  readonly type: 'ready';
  readonly role: string;
  readonly pid: number;
  /** The port that serves callers; absent for a program that has none. */
  readonly port?: number;
  /** The port that serves health and metrics. */
  readonly opsPort?: number;
  /** The processes under a supervisor. */
  readonly workers?: readonly { readonly pid: number; readonly opsPort: number }[];
}

/** How a program ended. */
export interface ProcessExit {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real process of an app. It is killed when the test process ends. */
export interface TestProcess {
  readonly pid: number;
  readonly ready: ReadyMessage;
  /** Every line that it wrote to stdout and stderr, in order of arrival. Grows while it runs. */
  readonly lines: readonly string[];
  readonly exited: Promise<ProcessExit>;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<ProcessExit>;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<ProcessExit>;
  /** Sends SIGSTOP: sockets stay open and nothing moves. */
  suspend(): void;
  resume(): void;
  /** Closes the IPC channel, as the death of the parent would. */
  abandon(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const repository = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Starts a program, given by its path from the checkout's root such as `apps/worker/src/main.ts`, and resolves when
 * it has sent `ready` over IPC. If it ends before or is not ready in time, rejects with the lines that it wrote.
 */
export async function startProcess(entry: string, options: StartProcessOptions = {}): Promise<TestProcess> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const { checkout = repository } = options;
  const child = fork(join(checkout, entry), [...(options.arguments ?? [])], {
    cwd: checkout,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...options.environment },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const lines = collectLines(child);
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const killWithUs = () => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  void exited.then(() => process.off('exit', killWithUs));
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  try {
    const ready = await waitForReady(child, exited, options.readyLimitMs ?? 50_000);
    return {
      pid: ready.pid,
      ready,
      lines,
      exited,
      stop: () => end('SIGTERM'),
      kill: () => end('SIGKILL'),
      suspend: () => void child.kill('SIGSTOP'),
      resume: () => void child.kill('SIGCONT'),
      abandon: () => child.disconnect(),
      async [Symbol.asyncDispose]() {
        await end('SIGKILL');
      },
    };
  } catch (thrown) {
    await end('SIGKILL');
    throw new Error(`${entry} did not become ready\n${lines.join('\n')}`, { cause: thrown });
  }
}

function collectLines(child: ChildProcess): string[] {
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  return lines;
}

async function waitForReady(
  child: ChildProcess,
  exited: Promise<ProcessExit>,
  limitMs: number,
): Promise<ReadyMessage> {
  const signal = AbortSignal.timeout(limitMs);
  const said = (async () => {
    for (;;) {
      const [message] = await once(child, 'message', { signal });
      if (isReady(message)) return message;
    }
  })();
  const ended = exited.then(({ code, signal: by }) => {
    throw new Error(`it ended with ${by ?? `code ${code}`}`);
  });
  // The loser of the race still rejects later, and that rejection is nobody's concern.
  said.catch(() => undefined);
  ended.catch(() => undefined);
  return Promise.race([said, ended]);
}

function isReady(message: unknown): message is ReadyMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}
