import { SluiceError } from '@sluice/canonical';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { keepAsking } from './ask-to-write.ts';
import { coalesceWrites } from './coalesce-writes.ts';
import { isRefusedByReplica, leaveReplaced, shunReplicas } from './follow-master.ts';
import { ImpatientCluster } from './impatient-cluster.ts';
import { passReasonOfNode, SentinelReasons } from './pass-reason.ts';
import { messageTaken } from './quiet-line.ts';
import { parseRedisAddress, type RedisAddress } from './redis-address.ts';
import { groupTls, serverTls } from './redis-tls.ts';
import { shortenCommandLives } from './short-lived-commands.ts';
import { watchSilence } from './watch-silence.ts';

/** A connection to one server, or to a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * How a connection behaves when Redis is away.
 * - `command`: fails fast, because a caller waits. Nothing is queued while offline, and commands give up in time.
 * - `worker`: waits for ever, because what a worker writes must not be lost.
 * - `quiet`: as `command`, but only for messages that nobody waits for: see `createQuietLine`.
 * - `subscriber`: as `worker`, but only for subscriptions. Its owner renews them after each `ready`. ioredis could do
 *   that itself, but a refused subscription would then be an unhandled rejection, which ends the process.
 */
export type ConnectionProfile = 'command' | 'quiet' | 'worker' | 'subscriber';

const reconnectLimitMs = 500;
/**
 * How long Redis may be silent while a caller waits for it. With the checks' interval, the caller is told within a
 * second.
 */
const commandSilenceMs = 800;
/**
 * A Redis that is silent for so long while a command waits counts as dead, whatever TCP believes: if a middlebox has
 * forgotten the connection, TCP needs a quarter of an hour to find out. It is longer than every blocking fetch.
 */
export const deadAfterMs = 3_000;

/**
 * How often a cluster is asked who its masters are if nobody sends commands that would show it: a master that only the
 * other servers can't reach keeps its subscribers and does not tell them that it was replaced.
 */
const slotsRefreshIntervalMs = 5_000;

/** The owner of a subscriber emits this on it once all subscriptions are renewed after a `ready`. */
export const resubscribed = 'resubscribed';

type Settings = Omit<RedisOptions, 'replyMapping'>;

const failingFast: Settings = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
};

const byProfile: Readonly<Record<ConnectionProfile, Settings>> = {
  command: failingFast,
  quiet: failingFast,
  worker: { maxRetriesPerRequest: null },
  subscriber: { maxRetriesPerRequest: null, autoResubscribe: false },
};

/** How a connection behaves, and what it calls. */
export interface ConnectionOptions {
  profile: ConnectionProfile;
  /** Shown by `CLIENT LIST`. */
  name: string;
  /** Called with the first error of each outage, not with every attempt's. Reconnecting goes on by itself. */
  onError(error: Error): void;
  /** Called when an outage is over that `onError` was called for: Redis takes what we write again. Default: none. */
  onRecovery?(): void;
  /**
   * Called when the server has refused a command because it has become a replica. This connection then looks for the
   * master by itself. Default: none.
   */
  onDemoted?(): void;
}

/**
 * Opens a connection to the Redis of a URL, which may be one server or a group. It connects in the background, retries
 * for ever, and does so at least twice a second. Throws `invalid-request` for a URL that does not name a Redis.
 */
export function openRedis(url: string, options: ConnectionOptions): RedisClient {
  const { profile, name, onError, onRecovery, onDemoted } = options;
  shortenCommandLives();
  const address = parseRedisAddress(url);
  // A worker opens a twin, which inherits the options but not our listeners, so it relies on the time limit of ioredis.
  const isWatchedHere = profile !== 'worker';
  const settings: Settings = {
    ...byProfile[profile],
    ...(!isWatchedHere && { socketTimeout: deadAfterMs }),
    connectionName: name,
    keepAlive: deadAfterMs,
    retryStrategy: (times) => Math.min(50 * times, reconnectLimitMs),
    // A twin inherits this callback, so it also reconnects the first connection, which may only publish.
    reconnectOnError: (error) => {
      // In a cluster, a replica redirects us to its master by itself.
      if (address.kind === 'cluster' || !isRefusedByReplica(error)) return false;
      reconnect(client);
      onDemoted?.();
      return profile === 'worker' ? 2 : true;
    },
  };
  const client = openTopology(address, settings, profile);
  keepToDatabase(client);
  let isOut = false;
  const failed = (error: Error): void => {
    if (isOut) return;
    isOut = true;
    onError(error);
  };
  client.on('error', failed);
  let hasEnded = false;
  if (client instanceof Redis)
    client.on('reconnecting', () => {
      hasEnded = true;
    });
  const served = (): void => {
    // ioredis has no error for a connection that Redis ended in good order (`CLIENT KILL`, its `timeout`, a proxy's idle
    // limit). It is told of when there is another: if that fails, its own error says more.
    if (hasEnded) failed(new Error('the connection to redis was closed'));
    hasEnded = false;
    if (isOut) onRecovery?.();
    isOut = false;
  };
  // On a quiet line, a question would not be answered.
  if (profile === 'quiet') client.on(messageTaken, served);
  else if (profile !== 'subscriber') keepAsking(client, served);
  else if (client instanceof Cluster) client.on('ready', served).on(resubscribed, served);
  else client.once('ready', served).on(resubscribed, served);
  if (client instanceof Redis) keepToMaster(client);
  const silenceMs = profile === 'command' ? commandSilenceMs : deadAfterMs;
  eachNode(client, (node) => {
    if (client instanceof Cluster) passReasonOfNode(node);
    if (isWatchedHere) watchSilence(node, silenceMs, profile === 'command' || profile === 'quiet');
    // A subscriber sends next to nothing.
    if (profile !== 'subscriber') coalesceWrites(node);
  });
  return client;
}

/** Opens a second connection like this one, for commands that block. The caller closes it. */
export function openTwin(client: RedisClient): RedisClient {
  // The two have signatures that a union cannot call.
  const twin = client instanceof Cluster ? client.duplicate() : client.duplicate();
  keepToDatabase(twin);
  // Each command rejects by itself, and the first connection already reports outages.
  twin.on('error', () => undefined);
  eachNode(twin, coalesceWrites);
  if (twin instanceof Redis) keepToMaster(twin);
  return twin;
}

/** If the database may not be selected, ioredis would go on in database 0, among the data of somebody else. */
function keepToDatabase(client: RedisClient): void {
  // A cluster has one database.
  if (client instanceof Cluster) return;
  client.on('error', (error: Error) => {
    if (isRefusedDatabase(error)) client.disconnect(true);
  });
}

function isRefusedDatabase(error: Error | undefined): boolean {
  const command = error?.name === 'ReplyError' && 'command' in error ? error.command : undefined;
  return typeof command === 'object' && command !== null && 'name' in command && command.name === 'select';
}

function keepToMaster(client: Redis): void {
  if (client.options.sentinels) leaveReplaced(client, client.options.sentinels);
  else shunReplicas(client);
}

/** Closes a connection that is open, and opens it again. Any other is being opened already. */
export function reconnect(client: RedisClient): void {
  if (client.status === 'ready') client.disconnect(true);
}

/** Visits a single connection, or those to all nodes of a cluster, also those that are made later. */
function eachNode(client: RedisClient, visit: (node: Redis) => void): void {
  if (client instanceof Redis) {
    visit(client);
    return;
  }
  for (const node of client.nodes()) visit(node);
  client.on('+node', visit);
}

/**
 * Resolves when the connection can take commands. Rejects with `unavailable` when `signal` aborts first, in the words
 * of the last error.
 */
export async function connected(client: RedisClient, signal: AbortSignal): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve, reject) => {
    let last: Error | undefined;
    const settle = (outcome: () => void) => () => {
      client.off('ready', ready);
      client.off('error', failed);
      signal.removeEventListener('abort', aborted);
      outcome();
    };
    const ready = settle(resolve);
    const failed = (error: Error): void => {
      // After a refused database the connection is closed, and what that breaks would hide the reason.
      if (isRefusedDatabase(last)) return;
      // The cluster's own error only says that all nodes failed. The error of a node says why.
      const ofNode = 'lastNodeError' in error ? error.lastNodeError : undefined;
      last = ofNode instanceof Error ? ofNode : error;
    };
    const aborted = settle(() =>
      reject(new SluiceError('unavailable', last?.message || 'no answer', { cause: last })),
    );
    client.on('ready', ready);
    client.on('error', failed);
    signal.addEventListener('abort', aborted);
    if (signal.aborted) aborted();
  });
}

function openTopology(address: RedisAddress, options: Settings, profile: ConnectionProfile): RedisClient {
  switch (address.kind) {
    case 'server':
      return new Redis(address.url, { ...options, ...serverTls(address.url) });
    case 'socket': {
      const { path, db, credentials } = address;
      return new Redis({ ...options, ...credentials, path, db });
    }
    case 'sentinel': {
      const { isEncrypted, nodes, group, db, credentials, sentinelCredentials: login } = address;
      const tls = groupTls(nodes);
      return new Redis({
        ...options,
        ...credentials,
        ...(login.username !== undefined && { sentinelUsername: login.username }),
        ...(login.password !== undefined && { sentinelPassword: login.password }),
        ...(isEncrypted && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
        sentinels: nodes,
        Connector: SentinelReasons,
        name: group,
        db,
        sentinelRetryStrategy: () => reconnectLimitMs,
      });
    }
    case 'cluster': {
      const { isEncrypted, nodes, credentials } = address;
      const { retryStrategy, enableOfflineQueue = true, connectionName: _each, ...redisOptions } = options;
      const Kind = enableOfflineQueue ? Cluster : ImpatientCluster;
      return new Kind(nodes, {
        redisOptions: { ...redisOptions, ...credentials, ...(isEncrypted && { tls: groupTls(nodes) }) },
        // Certificates name hosts. Without this, ioredis would resolve names first and check against the address.
        ...(isEncrypted && { dnsLookup: (host, found) => found(null, host) }),
        enableOfflineQueue,
        ...(profile === 'subscriber' && { slotsRefreshInterval: slotsRefreshIntervalMs }),
        clusterRetryStrategy: (times) => Number(retryStrategy?.(times) ?? reconnectLimitMs),
      });
    }
  }
}
