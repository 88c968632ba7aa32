import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SluiceError } from '@sluice/canonical';
import { findFreePort } from './free-port.ts';

export interface RedisServerOptions {
  /** The server program. Default: `redis-server`, looked up on PATH. */
  binary?: string;
  /** Default: any free port of 127.0.0.1. */
  port?: number;
  /**
   * A Unix socket that it listens on as well, for its owner alone; `url` is then that. Its folder is made where it is
   * missing, and then removed by `stop`. Absent: none.
   */
  socket?: string | undefined;
  /** Where `SAVE` writes and the server reads at its start. Default: a new folder, removed by `stop`. */
  directory?: string;
  /** More arguments of the server, as `['--maxmemory', '10mb']`. Default: none. */
  arguments?: readonly string[];
}

/** A Redis server that this process started on 127.0.0.1 and that dies with it, even by SIGKILL. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Absent where it has none. */
  readonly socket: string | undefined;
  /** Of the server itself, not of its guard. */
  readonly pid: number;
  readonly directory: string;
  /** Resolves when the server is gone, whoever ended it. */
  readonly exited: Promise<void>;
  /** Ends the server at once, without saving, and removes the folder that was made for it. Idempotent. */
  stop(): Promise<void>;
}

const startLimitMs = 15_000;
const portAttempts = 5;
const guard = fileURLToPath(new URL('./guard.ts', import.meta.url));

/** Starts a Redis without persistence that evicts nothing; rejects with the server's own last words. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  // It may name a folder that is not there: in a container, or for a user who has just been made.
  await mkdir(tmpdir(), { recursive: true });
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'sluice-redis-')));
  const { socket } = options;
  const socketFolder = socket && (await mkdir(dirname(socket), { recursive: true, mode: 0o700 }));
  const made = [
    ...(options.directory === undefined ? [directory] : []),
    ...(socketFolder ? [socketFolder] : []),
  ];
  const removeDirectories = async () => {
    for (const folder of made) await rm(folder, { recursive: true, force: true });
  };
  let complaint = '';
  try {
    for (let attempt = 0; attempt < portAttempts; attempt++) {
      const port = options.port ?? (await findFreePort());
      const start = await launch(options, port, directory, made);
      if (start.outcome === 'ready') {
        const url = socket === undefined ? `redis://127.0.0.1:${port}` : socketUrl(socket);
        return asServer(start, { url, port, socket, directory }, removeDirectories);
      }
      complaint = start.complaint;
      // Somebody else took the free port between the question and the start: ask for another.
      if (options.port !== undefined || !/in use/i.test(complaint)) break;
    }
    throw new SluiceError('unavailable', `redis-server did not start: ${complaint}`);
  } catch (thrown) {
    await removeDirectories();
    throw thrown;
  }
}

/**
 * Runs a program (its name and its arguments) that never outlives this process, whatever ends it. The returned
 * process is its guard: it ends with the program, and the program with its channel. `folders` are removed where this
 * process ends first; default: none.
 */
export function runGuarded(program: readonly string[], folders: readonly string[] = []): ChildProcess {
  // Its own session: a Ctrl-C in the terminal must not end Redis before those who still need it.
  return fork(guard, [JSON.stringify(folders), ...program], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
    execArgv: [],
  });
}

type Launch =
  | { outcome: 'ready'; guard: ChildProcess; pid: number; exited: Promise<void> }
  | { outcome: 'failed'; complaint: string };

async function launch(
  options: RedisServerOptions,
  port: number,
  directory: string,
  made: readonly string[],
): Promise<Launch> {
  const program = [
    options.binary ?? 'redis-server',
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--logfile', ''],
    ...['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'],
    ...(options.socket === undefined ? [] : ['--unixsocket', options.socket, '--unixsocketperm', '700']),
    ...(options.arguments ?? []),
  ];
  const child = runGuarded(program, made);
  const exited = once(child, 'exit').then(() => undefined);
  const lines: string[] = [];
  const started = new Promise<number>((resolve) => {
    child.on('message', (message) => {
      if (isStarted(message)) resolve(message.pid);
    });
  });
  const ready = new Promise<void>((resolve) => {
    const read = (line: string) => {
      lines.push(line);
      if (lines.length > 20) lines.shift();
      if (line.includes('Ready to accept connections')) resolve();
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', read);
    }
  });
  const limit = AbortSignal.timeout(startLimitMs);
  const late = new Promise<undefined>((resolve) => {
    limit.addEventListener('abort', () => resolve(undefined));
  });
  // The line and the message take two ways, so that either may come first.
  const serving = Promise.all([started, ready]).then(([pid]) => pid);
  // `close` and not `exit`: what it complained of is read by then.
  const closed = once(child, 'close').then(() => undefined);
  const pid = await Promise.race([serving, closed, late]);
  if (pid !== undefined) {
    letProcessEnd(child);
    // The guard may be killed alone; its Redis must not stay behind.
    return { outcome: 'ready', guard: child, pid, exited: exited.then(() => killQuietly(pid)) };
  }
  // Not the guard itself: it takes its program with it when the channel closes.
  if (child.connected) child.disconnect();
  const complaint = lines.findLast((line) => /in use|ENOENT|FATAL|ERROR/i.test(line)) ?? lines.at(-1);
  return { outcome: 'failed', complaint: bare(complaint) ?? `no answer within ${startLimitMs / 1000} s` };
}

function asServer(
  start: Extract<Launch, { outcome: 'ready' }>,
  place: Pick<RedisServer, 'url' | 'port' | 'socket' | 'directory'>,
  removeDirectories: () => Promise<void>,
): RedisServer {
  return {
    ...place,
    pid: start.pid,
    exited: start.exited,
    async stop() {
      // Nothing else may keep this process alive, and it has to see the end.
      start.guard.ref();
      killQuietly(start.pid);
      await start.exited;
      await removeDirectories();
    },
  };
}

function socketUrl(path: string): string {
  return `unix://${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** The server's sentence without its process id, role, date and level. */
function bare(line: string | undefined): string | undefined {
  return line?.replace(/^\d+:\w .*?\.\d+ [.*#-] /, '');
}

// A test runner or a command that forgets to stop its Redis can still end: the guard then kills the server.
function letProcessEnd(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream && 'unref' in stream && typeof stream.unref === 'function') stream.unref();
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already, which is what was wanted.
  }
}

function isStarted(message: unknown): message is { type: 'started'; pid: number } {
  return (
    typeof message === 'object' && message !== null && 'pid' in message && typeof message.pid === 'number'
  );
}
