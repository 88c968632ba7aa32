import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import { deadAfterMs } from './connection.ts';
import { watchSilence } from './watch-silence.ts';

const reconnectMs = 100;
/** A subscriber says nothing by itself, so that silence would show nothing. */
const pingIntervalMs = 1_000;

/**
 * Opens a connection to any server of a cluster, for plain subscriptions: what one server is told by `PUBLISH`, all
 * tell. When it is lost, it is made again to any server, and its owner subscribes again at each `ready`. The
 * subscriber of ioredis moves to another server, too, but does not say when, so that nobody knows what he has missed.
 */
export function openRoaming(cluster: Cluster): Redis {
  const options: Omit<RedisOptions, 'replyMapping'> = cluster.options.redisOptions ?? {};
  const roaming = new Redis({
    ...options,
    ...anyServer(cluster),
    connectTimeout: deadAfterMs,
    retryStrategy: () => {
      // ioredis reads the address anew each time.
      Object.assign(roaming.options, anyServer(cluster, roaming.options));
      return reconnectMs;
    },
  });
  // Each outage also shows on the connections for commands, which report it.
  roaming.on('error', () => undefined);
  watchSilence(roaming, deadAfterMs, false);
  const pinging = setInterval(() => {
    if (roaming.status === 'ready') roaming.ping().catch(() => undefined);
  }, pingIntervalMs);
  pinging.unref();
  roaming.once('end', () => clearInterval(pinging));
  return roaming;
}

type Address = Pick<RedisOptions, 'host' | 'port'>;

/** A server chosen at random, if possible not the one at `last`. Empty while none is known. */
function anyServer(cluster: Cluster, last: Address = {}): Address {
  const all = cluster.nodes().map(({ options: { host = '', port = 0 } }) => ({ host, port }));
  const others = all.filter(({ host, port }) => host !== last.host || port !== last.port);
  const eligible = others.length > 0 ? others : all;
  return eligible[Math.floor(Math.random() * eligible.length)] ?? {};
}
