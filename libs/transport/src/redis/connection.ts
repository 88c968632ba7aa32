import { SluiceError } from '@sluice/canonical';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { keepAsking } from './ask-to-write.ts';
import { coalesceWrites } from './coalesce-writes.ts';
import { isRefusedByReplica, leaveReplaced, shunReplicas } from './follow-master.ts';
import { ImpatientCluster } from './impatient-cluster.ts';
import { passReasonOfNode, SentinelReasons } from './pass-reason.ts';
import { parseRedisAddress, type RedisAddress } from './redis-address.ts';
import { groupTls, serverTls } from './redis-tls.ts';
import { watchSilence } from './watch-silence.ts';

export type RedisClient = Redis | Cluster;

/**
 * How a connection behaves when Redis is away.
 * - `command`: fails fast, for a caller who waits: nothing is queued while offline, a command gives up in time.
 * - `worker`: waits for ever; what it writes must not be lost.
 * - `subscriber`: as `worker`, for subscriptions and nothing else. After each `ready` its owner makes them anew: ioredis
 *   would, too, and leave it to nobody that one is refused, which ends the process.
 */
export type ConnectionProfile = 'command' | 'worker' | 'subscriber';

const reconnectLimitMs = 500;
/** How long a command of somebody who waits may see nothing of Redis: within a second, looks included, he is told. */
const commandSilenceMs = 800;
/**
 * Who says nothing for so long while a command waits for its answer is dead, whatever TCP believes: behind a
 * middlebox that forgot the connection it would take a quarter of an hour to find out. Longer than every
 * blocking fetch.
 */
const deadAfterMs = 3_000;

/** Emitted on a subscriber by its owner when the subscriptions stand again after a `ready`. */
export const resubscribed = 'resubscribed';

type Settings = Omit<RedisOptions, 'replyMapping'>;

const byProfile: Readonly<Record<ConnectionProfile, Settings>> = {
  command: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  },
  worker: { maxRetriesPerRequest: null },
  subscriber: { maxRetriesPerRequest: null, autoResubscribe: false },
};

export interface ConnectionOptions {
  profile: ConnectionProfile;
  /** Shown by `CLIENT LIST`. */
  name: string;
  /** Told about the first error of each outage, not about every attempt; reconnecting goes on by itself. */
  onError(error: Error): void;
  /** Told that an outage is over which `onError` was told of: that Redis takes what we write. Default: nobody. */
  onRecovery?(): void;
  /**
   * Told that the server has refused a command because it has become a replica; this connection looks for the master
   * by itself. Default: nobody.
   */
  onDemoted?(): void;
}

/**
 * Opens a connection to the Redis of a URL, which may be one server or a group. It connects in the background and for
 * ever, at least twice a second. Throws `invalid-request` for a URL that names none.
 */
export function openRedis(url: string, options: ConnectionOptions): RedisClient {
  const { profile, name, onError, onRecovery, onDemoted } = options;
  const address = parseRedisAddress(url);
  // What opens further connections by itself (a cluster for its subscriptions, a twin) hands on its options and
  // nothing else: there ioredis' own limit must do, which counts the time.
  const isWatchedHere = profile === 'command' || (profile === 'subscriber' && address.kind !== 'cluster');
  const settings: Settings = {
    ...byProfile[profile],
    ...(!isWatchedHere && { socketTimeout: deadAfterMs }),
    connectionName: name,
    keepAlive: deadAfterMs,
    retryStrategy: (times) => Math.min(50 * times, reconnectLimitMs),
    // A twin has this, too, so that it takes the first connection along, which may only publish.
    reconnectOnError: (error) => {
      // In a cluster who is no master says who is.
      if (address.kind === 'cluster' || !isRefusedByReplica(error)) return false;
      reconnect(client);
      onDemoted?.();
      return profile === 'worker' ? 2 : true;
    },
  };
  const client = openTopology(address, settings);
  keepToDatabase(client);
  let isOut = false;
  client.on('error', (error: Error) => {
    if (isOut) return;
    isOut = true;
    onError(error);
  });
  const served = (): void => {
    if (isOut) onRecovery?.();
    isOut = false;
  };
  if (profile !== 'subscriber') keepAsking(client, served);
  else if (client instanceof Cluster) client.on('ready', served);
  else client.once('ready', served).on(resubscribed, served);
  if (client instanceof Redis) keepToMaster(client);
  const silenceMs = profile === 'command' ? commandSilenceMs : deadAfterMs;
  eachNode(client, (node) => {
    if (client instanceof Cluster) passReasonOfNode(node);
    if (isWatchedHere) watchSilence(node, silenceMs, profile === 'command');
    // A subscriber has nothing to say.
    if (profile !== 'subscriber') coalesceWrites(node);
  });
  return client;
}

/** Opens a second connection like this one, for commands that block. Its owner closes it. */
export function openTwin(client: RedisClient): RedisClient {
  const twin =
    client instanceof Cluster ? client.duplicate([], { shardedSubscribers: false }) : client.duplicate();
  keepToDatabase(twin);
  // Each command rejects by itself, and the owner of the first connection hears of outages.
  twin.on('error', () => undefined);
  eachNode(twin, coalesceWrites);
  if (twin instanceof Redis) keepToMaster(twin);
  return twin;
}

/** ioredis would go on in the first database, among the data of somebody else, where it is refused the one it is to use. */
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

/** Closes a connection that stands, and opens it again; one that does not is being opened already. */
export function reconnect(client: RedisClient): void {
  if (client.status === 'ready') client.disconnect(true);
}

/** One of a cluster's nodes is a connection of its own, and comes and goes. */
function eachNode(client: RedisClient, visit: (node: Redis) => void): void {
  if (client instanceof Redis) {
    visit(client);
    return;
  }
  for (const node of client.nodes()) visit(node);
  client.on('+node', visit);
}

/**
 * Resolves when the connection can take commands. Rejects with `unavailable` when `signal` aborts first, in the words of
 * the last error.
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
      // What fails after it fails because the connection is given up then.
      if (isRefusedDatabase(last)) return;
      // A cluster says only that all its nodes failed; a node knows why.
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

function openTopology(address: RedisAddress, options: Settings): RedisClient {
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
      const cluster = new Kind(nodes, {
        redisOptions: { ...redisOptions, ...credentials, ...(isEncrypted && { tls: groupTls(nodes) }) },
        // A certificate is for the name of a host; ioredis would take the address, and demand one of every name.
        ...(isEncrypted && { dnsLookup: (host, found) => found(null, host) }),
        enableOfflineQueue,
        shardedSubscribers: true,
        clusterRetryStrategy: (times) => Number(retryStrategy?.(times) ?? reconnectLimitMs),
      });
      cluster.on('close', () => freeSubscribers(cluster));
      return cluster;
    }
  }
}

/**
 * ioredis 6.0.0 waits for ever for a subscriber that it was connecting when it lost the whole cluster, and then renews
 * none of them any more: the process would stay deaf. When everything is closed there is nothing to wait for.
 */
function freeSubscribers(cluster: Cluster): void {
  // Private in ioredis, whose version is pinned; a test takes the whole cluster away.
  const group = (cluster as unknown as { shardedSubscribers?: SubscriberGroup }).shardedSubscribers;
  if (!group) return;
  group.isResetting = false;
  group.pendingReset = null;
}

interface SubscriberGroup {
  isResetting: boolean;
  pendingReset: object | null;
}
