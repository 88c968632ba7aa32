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
   * A Unix socket on which it listens as well, for its owner alone; `url` is then that of the socket. If its folder is
   * missing, it is made, and removed by `stop`. Absent: none.
   */
  socket?: string | undefined;
  /** Where `SAVE` writes and the server reads at its start. Default: a new folder, removed by `stop`. */
  directory?: string;
  /** More arguments for the server, as `['--maxmemory', '10mb']`. Default: none. */
  arguments?: readonly string[];
}

/** A Redis server that this process started on 127.0.0.1 and that dies with it, even by SIGKILL. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Absent where it has none. */
  readonly socket: string | undefined;
  /** Process id of the server itself, not of its guard. */
  readonly pid: number;
  readonly directory: string;
  /** Resolves when the server has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Ends the server at once, without saving, and removes the folder that was made for it. Idempotent. */
  stop(): Promise<void>;
}

const startLimitMs = 15_000;
const portAttempts = 5;
const guard = fileURLToPath(new URL('./guard.ts', import.meta.url));

/** Starts a Redis that persists nothing and evicts nothing. Rejects with the server's own last message. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  // TMPDIR may name a folder that does not exist: in a container, or for a new user.
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
      // If somebody else took the free port before the server started, try another.
      if (options.port !== undefined || !/in use/i.test(complaint)) break;
    }
    throw new SluiceError('unavailable', `redis-server did not start: ${complaint}`);
  } catch (thrown) {
    await removeDirectories();
    throw thrown;
  }
}

/**
 * Runs a program (its name and its arguments) that never outlives this process, whatever ends this process. Returns the
 * program's guard, a process that ends when the program does, and ends the program when its IPC channel closes. If this
 * process ends first, `folders` are removed; default: none.
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
  // The log line and the IPC message come by different ways, in any order.
  const serving = Promise.all([started, ready]).then(([pid]) => pid);
  // `close` and not `exit`: all of its output has been read by then.
  const closed = once(child, 'close').then(() => undefined);
  const pid = await Promise.race([serving, closed, late]);
  if (pid !== undefined) {
    letProcessEnd(child);
    // The guard may be killed alone; its Redis must not stay behind then.
    return { outcome: 'ready', guard: child, pid, exited: exited.then(() => killQuietly(pid)) };
  }
  // The guard is disconnected, not killed, so that it ends its program first.
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
      // This process has to live until the guard has ended, and nothing else may keep it alive.
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

// The guard keeps nobody alive: a test runner or a command that forgets to stop its Redis can still end, upon which the
// guard kills the server.
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
    // It has ended already.
  }
}

function isStarted(message: unknown): message is { type: 'started'; pid: number } {
  return (
    typeof message === 'object' && message !== null && 'pid' in message && typeof message.pid === 'number'
  );
}
