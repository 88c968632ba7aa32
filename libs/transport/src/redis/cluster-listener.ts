import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import { deadAfterMs } from './connection.ts';
import { watchSilence } from './watch-silence.ts';

/** Who only listens says nothing, so that the silence of the other end would show nothing. */
const pingIntervalMs = 1_000;

/**
 * A connection to one server of a cluster, with the cluster's options, for who only listens. It is cut when the server
 * is silent for 3 s. Its errors are not reported: those of the connections for commands tell of the same outages.
 */
export function createClusterListener(
  cluster: Cluster,
  server: Pick<RedisOptions, 'host' | 'port'>,
  behaviour: Pick<RedisOptions, 'lazyConnect' | 'enableReadyCheck' | 'retryStrategy'>,
): Redis {
  const options: Omit<RedisOptions, 'replyMapping'> = cluster.options.redisOptions ?? {};
  const listener = new Redis({ ...options, ...server, ...behaviour, connectTimeout: deadAfterMs });
  listener.on('error', () => undefined);
  watchSilence(listener, deadAfterMs, false);
  const pinging = setInterval(() => {
    if (listener.status === 'ready') listener.ping().catch(() => undefined);
  }, pingIntervalMs);
  pinging.unref();
  listener.once('end', () => clearInterval(pinging));
  return listener;
}
