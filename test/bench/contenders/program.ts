import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { killWithUs } from '../machine/kill-with-us.ts';

const seat = z.looseObject({ pid: z.number(), opsPort: z.number().optional() });
const readyMessage = z.looseObject({
  type: z.literal('ready'),
  pid: z.number(),
  port: z.number().optional(),
  opsPort: z.number().optional(),
  /** From a supervisor: the processes that serve under it. */
  ingresses: z.array(seat).optional(),
  workers: z.array(seat).optional(),
});
type ReadyMessage = z.output<typeof readyMessage>;

/** One of our programs, running from a checkout. */
export interface Program {
  readonly ready: ReadyMessage;
  /** The processes that serve: itself, or those under a supervisor. */
  readonly processes: readonly { pid: number; opsPort?: number | undefined }[];
  stop(): Promise<void>;
}

export interface ProgramOptions {
  /** Folder of the checkout. */
  root: string;
  /** Path from `root`, as `apps/worker/src/main.ts`. */
  entry: string;
  environment: Readonly<Record<string, string>>;
}

const readyLimitMs = 30_000;
const stopLimitMs = 10_000;

/** Starts a program as `npm start` does and resolves when it serves. Its output goes to our stderr. */
export async function startProgram({ root, entry, environment }: ProgramOptions): Promise<Program> {
  const child = fork(join(root, entry), [], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    execArgv: await threadOptionsOf(root),
    // Logs go to stderr: stdout is for the table.
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  killWithUs(child);
  const ready = await waitForReady(child, entry);
  return {
    ready,
    processes: ready.ingresses ?? ready.workers ?? [ready],
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const limit = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
      await exited;
      clearTimeout(limit);
    },
  };
}

/** Where a checkout says with which options of Node it starts what serves, and where older ones did. */
const threadOptionFiles = [
  'libs/runtime/src/process/background-threads.ts',
  'libs/runtime/src/background-threads.ts',
];

/** The options of Node with which a checkout starts what serves. Those before 26 November 2026 know none. */
async function threadOptionsOf(root: string): Promise<string[]> {
  const file = threadOptionFiles.map((path) => join(root, path)).find(existsSync);
  if (file === undefined) return [];
  return z.object({ threadOptions: z.array(z.string()) }).parse(await import(file)).threadOptions;
}

async function waitForReady(child: ChildProcess, entry: string): Promise<ReadyMessage> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(readyLimitMs)]);
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${entry} ended before it served`);
  });
  const said = (async () => {
    for (;;) {
      const [message] = await once(child, 'message', { signal });
      const parsed = readyMessage.safeParse(message);
      if (parsed.success) return parsed.data;
    }
  })();
  // The loser of the race rejects later, which must not end this process.
  ended.catch(() => undefined);
  said.catch(() => undefined);
  try {
    return await Promise.race([said, ended]);
  } finally {
    over.abort();
  }
}
