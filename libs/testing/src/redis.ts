import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, openRedis, type RedisServer, startRedisServer } from '@sluice/redis';
import { Redis } from 'ioredis';
import { claimDatabase } from './redis-database.ts';

/** What kind of Redis a test needs. */
export interface StartRedisOptions {
  /** Additional server arguments, such as `['--maxmemory', '10mb']`. They imply a server of its own. */
  arguments?: readonly string[];
  /**
   * Connects by a Unix socket, which implies a server of its own. The server also listens on `port`. Default: false.
   */
  socket?: boolean;
  /** Never shares the server at REDIS_URL: for tests that kill, stop or restart theirs. Default: false. */
  own?: boolean;
}

/** A Redis for one test file. It is empty at the start, and what was written is gone after `stop`. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Unique to this call. Use it in the names of keys and channels: at REDIS_URL, all callers share pub/sub. */
  readonly prefix: string;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A Redis that a test may break on purpose. */
export interface OwnTestRedis extends TestRedis {
  /** Process id of the server that is running now. */
  readonly pid: number;
  /** Ends the server with SIGKILL; its port stays reserved for `up`. With `keepData`, the data is saved before. */
  down(options?: { keepData?: boolean }): Promise<void>;
  /** Starts the server again on the same port, with the data that `down` kept. */
  up(): Promise<void>;
  /** `down`, then `up`. */
  restart(options?: { keepData?: boolean }): Promise<void>;
  /** Freezes the server: connections stay open and nothing answers. */
  suspend(): void;
  resume(): void;
}

/**
 * Finds or starts a Redis in the same order as `npm start`: REDIS_URL, redis-server on the PATH, Docker, the Debian
 * package. On a shared server, every caller gets a database index of its own that was empty before and is
 * flushed by `stop`. `prefix` is unique in any case.
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<TestRedis> {
  if (options.arguments !== undefined || options.socket) return startOwnRedis(options);
  const opened = await openRedis({ own: options.own ?? false });
  const prefix = createPrefix();
  const claim = opened.origin === 'given' ? await claimDatabase(opened.url) : undefined;
  const url = claim?.url ?? opened.url;
  const stop = once(async () => {
    await claim?.release();
    await opened.close();
  });
  return { url, port: Number(new URL(url).port || 6379), prefix, stop, [Symbol.asyncDispose]: stop };
}

/** Starts a Redis for this test alone, which can be killed, frozen and restarted. Needs redis-server. */
export async function startOwnRedis(options: StartRedisOptions = {}): Promise<OwnTestRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-redis-'));
  const port = await findFreePort();
  const more = options.arguments ?? [];
  const socket = options.socket ? join(directory, 'redis.sock') : undefined;
  const launch = (): Promise<RedisServer> => startRedisServer({ port, directory, arguments: more, socket });
  let server: RedisServer | undefined = await launch();
  const { url } = server;
  const running = () => {
    if (server === undefined) throw new Error('this Redis is down');
    return server;
  };
  const down = async ({ keepData = false }: { keepData?: boolean } = {}) => {
    const current = running();
    if (keepData) await save(port);
    else await rm(join(directory, 'dump.rdb'), { force: true });
    await current.stop();
    server = undefined;
  };
  const up = async () => {
    server = await launch();
  };
  const stop = once(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });
  return {
    url,
    port,
    prefix: createPrefix(),
    get pid() {
      return running().pid;
    },
    down,
    up,
    async restart(restartOptions) {
      await down(restartOptions);
      await up();
    },
    suspend: () => void process.kill(running().pid, 'SIGSTOP'),
    resume: () => void process.kill(running().pid, 'SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function save(port: number): Promise<void> {
  const client = new Redis(port);
  try {
    await client.save();
  } finally {
    client.disconnect();
  }
}

function createPrefix(): string {
  return `sluice-test-${randomUUID().slice(0, 8)}`;
}

function once(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= action();
    return running;
  };
}
