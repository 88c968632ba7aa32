import { SluiceError } from '@sluice/canonical';
import { Cluster, Redis, type RedisOptions } from 'ioredis';

export type RedisClient = Redis | Cluster;

/**
 * How a connection behaves when Redis is away.
 * - `command`: fails fast, for a caller who waits: nothing is queued while offline, a command gives up in time.
 * - `worker`: waits for ever; what it writes must not be lost.
 * - `subscriber`: as `worker`, and subscribes again by itself after each reconnect.
 */
export type ConnectionProfile = 'command' | 'worker' | 'subscriber';

const commandTimeoutMs = 1_000;
const reconnectLimitMs = 500;

type Settings = Omit<RedisOptions, 'replyMapping'>;

const byProfile: Readonly<Record<ConnectionProfile, Settings>> = {
  // The time-out is load-bearing: without resending, ioredis 6 never settles a command whose connection was cut.
  command: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: commandTimeoutMs,
  },
  worker: { maxRetriesPerRequest: null },
  subscriber: { maxRetriesPerRequest: null, autoResubscribe: true },
};

export interface ConnectionOptions {
  profile: ConnectionProfile;
  /** Shown by `CLIENT LIST`. */
  name: string;
  /** Told about the first error of each outage, not about every attempt; reconnecting goes on by itself. */
  onError(error: Error): void;
}

/**
 * Opens a connection to one of three topologies by its URL:
 * `redis[s]://[user:password@]host:port[/db]`, `redis+sentinel://[user:password@]host:port,host:port/group[/db]`,
 * `redis+cluster://[user:password@]host:port,host:port`. It connects in the background and for ever, at least
 * twice a second. Throws `invalid-request` for a URL of another kind.
 */
export function openRedis(url: string, { profile, name, onError }: ConnectionOptions): RedisClient {
  const options: Settings = {
    ...byProfile[profile],
    connectionName: name,
    retryStrategy: (times) => Math.min(50 * times, reconnectLimitMs),
  };
  const client = openTopology(url, options);
  let isOut = false;
  client.on('ready', () => {
    isOut = false;
  });
  client.on('error', (error: Error) => {
    if (isOut) return;
    isOut = true;
    onError(error);
  });
  return client;
}

/** A second connection of the same kind, for what blocks or subscribes. */
export function duplicate(client: RedisClient): RedisClient {
  return client instanceof Cluster ? client.duplicate() : client.duplicate();
}

/** Resolves when the connection can take commands. Rejects with `unavailable` when `signal` aborts first. */
export async function connected(client: RedisClient, signal: AbortSignal): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    const settle = (outcome: () => void) => () => {
      client.off('ready', ready);
      signal.removeEventListener('abort', aborted);
      outcome();
    };
    const ready = settle(resolve);
    const aborted = settle(() => reject(new SluiceError('unavailable', 'redis does not answer')));
    client.on('ready', ready);
    signal.addEventListener('abort', aborted);
    if (signal.aborted) aborted();
  });
}

function openTopology(url: string, options: Settings): RedisClient {
  const kind = /^redis(s|\+sentinel|\+cluster)?:\/\//.exec(url)?.[0];
  if (kind === undefined)
    throw new SluiceError(
      'invalid-request',
      'a Redis URL starts with redis://, rediss://, redis+sentinel:// or redis+cluster://',
    );
  if (kind === 'redis://' || kind === 'rediss://') return new Redis(url, options);
  const { nodes, path, credentials } = parseNodes(url.slice(kind.length));
  if (kind === 'redis+sentinel://') {
    const [group = 'mymaster', db] = path.split('/');
    return new Redis({
      ...options,
      ...credentials,
      sentinels: nodes,
      name: group,
      ...(db ? { db: Number(db) } : {}),
      sentinelRetryStrategy: () => reconnectLimitMs,
    });
  }
  const { retryStrategy, enableOfflineQueue = true, connectionName: _each, ...redisOptions } = options;
  return new Cluster(nodes, {
    redisOptions: { ...redisOptions, ...credentials },
    enableOfflineQueue,
    shardedSubscribers: true,
    clusterRetryStrategy: (times) => Number(retryStrategy?.(times) ?? reconnectLimitMs),
  });
}

function parseNodes(rest: string): {
  nodes: { host: string; port: number }[];
  path: string;
  credentials: { username?: string; password?: string };
} {
  const at = rest.lastIndexOf('@');
  const [username = '', password = ''] = at < 0 ? [] : rest.slice(0, at).split(':').map(decodeURIComponent);
  const [hosts = '', ...path] = rest.slice(at + 1).split('/');
  const nodes = hosts.split(',').map((node) => {
    const [host = '127.0.0.1', port = '6379'] = node.split(':');
    return { host, port: Number(port) };
  });
  return {
    nodes,
    path: path.join('/'),
    credentials: { ...(username && { username }), ...(password && { password }) },
  };
}
