import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { createClusterListener } from './cluster-listener.ts';

const reconnectMs = 100;

/**
 * Opens a connection to any server of a cluster, for plain subscriptions: what one server is told by `PUBLISH`, all
 * tell. When it is lost, it is made again to any server, and its owner subscribes again at each `ready`. The
 * subscriber of ioredis moves to another server, too, but does not say when, so that nobody knows what he has missed.
 */
export function openRoaming(cluster: Cluster): Redis {
  const roaming = createClusterListener(cluster, anyServer(cluster), {
    retryStrategy: () => {
      // ioredis reads the address anew each time.
      Object.assign(roaming.options, anyServer(cluster, roaming.options));
      return reconnectMs;
    },
  });
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
