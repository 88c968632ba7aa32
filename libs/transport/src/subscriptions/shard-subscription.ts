import type { Cluster, Redis } from 'ioredis';
import { createClusterListener } from '../redis/cluster-listener.ts';
import { masterOf } from '../redis/cluster-master.ts';
import { deadAfterMs } from '../redis/connection.ts';

/** How often a subscription is looked at. */
const lookIntervalMs = 100;

/** One sharded subscription, which has its own connection to the master of its channel. */
export interface ShardSubscription {
  /** Resolves when it has ended: with its connection, by the signal, or because its slot has another master. */
  lost: Promise<void>;
}

/**
 * Resolves when Redis has acknowledged the subscription. Rejects with the reason when the master of the channel is not
 * known, refuses, does not answer in 3 s, or is replaced meanwhile, or when `signal` aborts; then nothing is left open,
 * and the cluster is asked for its masters.
 */
export async function openShardSubscription(
  cluster: Cluster,
  channel: string,
  listener: (text: string) => void,
  signal: AbortSignal,
): Promise<ShardSubscription> {
  const address = masterOf(cluster, channel);
  if (address === undefined || signal.aborted || isClosed(cluster)) {
    cluster.refreshSlotsCache();
    throw new Error(`no master of ${channel} is known`);
  }
  const connection = connectionTo(address, cluster);
  const lost = Promise.withResolvers<void>();
  let reason = new Error(`the subscription at ${address} was lost`);
  let stands = false;
  let looks = 0;
  const look = (): void => {
    looks += 1;
    const isLate = !stands && looks * lookIntervalMs > deadAfterMs;
    // The master may not know, or not say, that it is replaced.
    if (isLate || isClosed(cluster) || masterOf(cluster, channel) !== address) close();
    else if (!stands) cluster.refreshSlotsCache();
  };
  const timer = setInterval(look, lookIntervalMs);
  timer.unref();
  const close = (): void => {
    clearInterval(timer);
    signal.removeEventListener('abort', close);
    connection.off('smessage', receive);
    connection.disconnect();
    lost.resolve();
  };
  const receive = (_channel: string, text: string): void => listener(text);
  connection.on('smessage', receive);
  connection.on('error', (error) => {
    reason = error;
  });
  // The slot has moved to another master, which ends the subscriptions in it.
  connection.once('moved', close);
  connection.once('end', close);
  signal.addEventListener('abort', close);
  const isLost = lost.promise.then(() => Promise.reject(reason));
  try {
    await Promise.race([connection.connect().then(() => connection.ssubscribe(channel)), isLost]);
    stands = true;
    return { lost: lost.promise };
  } catch (error) {
    close();
    cluster.refreshSlotsCache();
    throw error;
  }
}

/** A connection that does not come back. Its owner makes it connect. */
function connectionTo(address: string, cluster: Cluster): Redis {
  // Addresses of IPv6 stand without brackets here.
  const colon = address.lastIndexOf(':');
  const server = { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
  return createClusterListener(cluster, server, {
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
}

/** A cluster that is closed while it has no connection at all never says that it has ended. */
function isClosed({ status }: Cluster): boolean {
  return status === 'end' || status === 'disconnecting';
}
