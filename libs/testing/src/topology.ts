import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, runGuarded } from '@sluice/redis';
import { Redis } from 'ioredis';
import { type OwnTestRedis, startOwnRedis } from './redis.ts';
import { type Encryption, encryptionArguments, prepareEncryption } from './redis-certificate.ts';
import { until } from './until.ts';

/** Servers start within hundredths of a second, but need far longer on an overloaded machine. */
const startLimitMs = 30_000;
const askLimitMs = 5_000;
/** By default, a master waits 5 s for more replicas before it syncs the first one: longer than most tests take. */
export const syncAtOnce = ['--repl-diskless-sync-delay', '0'] as const;

/** Redis servers of one topology, started for a test file. */
export interface Topology {
  readonly name: string;
  /** The address as an operator would write it. */
  readonly url: string;
  readonly nodes: readonly OwnTestRedis[];
  stop(): Promise<void>;
}

/** One server. */
export async function startSingle(): Promise<Topology> {
  const node = await startOwnRedis();
  return { name: 'single', url: node.url, nodes: [node], stop: () => node.stop() };
}

/** One server, reached by its Unix socket. */
export async function startSocket(): Promise<Topology> {
  const node = await startOwnRedis({ socket: true });
  return { name: 'socket', url: node.url, nodes: [node], stop: () => node.stop() };
}

/** What kind of sentinel to start. */
export interface StartSentinelOptions {
  /** Encrypts all traffic, except on each server's plain port, which is its `port`. Default: false. */
  isEncrypted?: boolean;
  /** How long a master may be silent before it is replaced. Default: longer than any test. */
  downAfterMs?: number;
}

/** Starts a master, its replica and one sentinel. Leaves nothing behind if it fails. */
export async function startSentinel({
  isEncrypted = false,
  downAfterMs = 600_000,
}: StartSentinelOptions = {}): Promise<Topology> {
  await using stack = new AsyncDisposableStack();
  const encrypt = isEncrypted ? await prepareEncryption(stack) : undefined;
  const startServer = async (more: readonly string[]) => {
    const encryption = await encrypt?.();
    const redis = stack.use(
      await startOwnRedis({ arguments: [...syncAtOnce, ...encryptionArguments(encryption), ...more] }),
    );
    return { redis, clientPort: encryption?.port ?? redis.port };
  };
  const { redis: master, clientPort: masterPort } = await startServer([]);
  const { redis: replica, clientPort: replicaPort } = await startServer([
    '--replicaof',
    '127.0.0.1',
    String(masterPort),
  ]);
  await until(
    async () => (await ask(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
    { timeoutMs: startLimitMs, what: 'the replica to follow its master' },
  );
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-sentinel-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const encryption = await encrypt?.();
  const port = await startSentinelProcess({ directory, masterPort, stack, encryption, downAfterMs });
  await until(async () => (await ask(port, 'SENTINEL', 'REPLICAS', 'group')).includes(String(replicaPort)), {
    timeoutMs: startLimitMs,
    what: 'the sentinel to know the replica',
  });
  const running = stack.move();
  return {
    name: 'sentinel',
    url: encryption
      ? `rediss+sentinel://localhost:${encryption.port}/group`
      : `redis+sentinel://127.0.0.1:${port}/group`,
    nodes: [master, replica],
    stop: () => running.disposeAsync(),
  };
}

/** Resolves with the port of a sentinel that answers. It ends with `stack`, and with this process at the latest. */
async function startSentinelProcess({
  directory,
  masterPort,
  stack,
  encryption,
  downAfterMs,
}: {
  directory: string;
  masterPort: number;
  stack: AsyncDisposableStack;
  encryption: Encryption | undefined;
  downAfterMs: number;
}): Promise<number> {
  const port = await findFreePort();
  const file = join(directory, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    `dir ${quoted(directory)}`,
    `logfile ${quoted(join(directory, 'sentinel.log'))}`,
    `sentinel monitor group 127.0.0.1 ${masterPort} 1`,
    // A test about something else must not see a failover because its machine stood still.
    `sentinel down-after-milliseconds group ${downAfterMs}`,
    // A sentinel waits twice as long between two failovers.
    'sentinel failover-timeout group 1000',
    ...(encryption?.settings.map(([name, value]) => `${name} ${quoted(value)}`) ?? []),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  // A sentinel that outlived its test would turn other tests' servers on the same ports into replicas.
  const guard = runGuarded(['redis-server', file, '--sentinel']);
  const exited = once(guard, 'exit');
  stack.defer(async () => {
    if (guard.connected) guard.disconnect();
    await exited;
  });
  await until(async () => (await ask(port, 'PING')) === '"PONG"', {
    timeoutMs: startLimitMs,
    what: 'the sentinel to answer',
  });
  return port;
}

/** A value as a line of a configuration holds it: a path may have a space, at which the value would end. */
const quoted = (value: string): string => JSON.stringify(value);

/** Sends one command to one server and returns its answer as text. */
export async function ask(port: number, command: string, ...args: string[]): Promise<string> {
  const client = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    retryStrategy: () => null,
    // A server that is frozen, or that accepts connections before it can serve, must not block the caller for ever.
    connectTimeout: askLimitMs,
    commandTimeout: askLimitMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return JSON.stringify(await client.call(command, ...args)) ?? '';
  } finally {
    client.disconnect();
  }
}
