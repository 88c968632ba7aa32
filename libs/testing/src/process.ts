import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface StartProcessOptions {
  /** Added to PATH, HOME and NODE_COMPILE_CACHE, which are all that is taken over from this process. */
  environment?: Readonly<Record<string, string>>;
  /** Arguments of the program. Default: none. */
  arguments?: readonly string[];
  /** How long it may take until the program says that it serves. Default: 50,000, for a crowded machine. */
  readyLimitMs?: number;
}

/** What a program of the house tells its parent over IPC when it serves. */
export interface ReadyMessage {
  readonly type: 'ready';
  readonly role: string;
  readonly pid: number;
  /** Where callers are served; absent for a program that has none. */
  readonly port?: number;
  /** Where health and metrics are served. */
  readonly opsPort?: number;
  /** The processes under a supervisor. */
  readonly workers?: readonly { readonly pid: number; readonly opsPort: number }[];
}

export interface ProcessExit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real process of an app. It is killed when the test process ends. */
export interface TestProcess {
  readonly pid: number;
  readonly ready: ReadyMessage;
  /** Every line it wrote, stdout and stderr, in order of arrival. Grows while it runs. */
  readonly lines: readonly string[];
  readonly exited: Promise<ProcessExit>;
  /** SIGTERM, then waits for the end. */
  stop(): Promise<ProcessExit>;
  /** SIGKILL, then waits for the end. */
  kill(): Promise<ProcessExit>;
  /** SIGSTOP: sockets stay open and nothing moves. */
  suspend(): void;
  resume(): void;
  /** Closes the IPC channel, as the death of a parent does. */
  abandon(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const repository = new URL('../../../', import.meta.url);

/**
 * Starts a program, named from the repository's root as `apps/worker/src/main.ts`, and resolves when it has said
 * `ready` over IPC. Rejects with the lines it wrote when it ends before, or says nothing in time.
 */
export async function startProcess(entry: string, options: StartProcessOptions = {}): Promise<TestProcess> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = fork(fileURLToPath(new URL(entry, repository)), [...(options.arguments ?? [])], {
    cwd: fileURLToPath(repository),
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
    throw new Error(`${entry} did not get ready\n${lines.join('\n')}`, { cause: thrown });
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
  // Whoever loses this race still rejects later; the winner has spoken for both.
  said.catch(() => undefined);
  ended.catch(() => undefined);
  return Promise.race([said, ended]);
}

function isReady(message: unknown): message is ReadyMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}
