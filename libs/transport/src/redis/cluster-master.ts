import slotOf from 'cluster-key-slot';
import type { Cluster, Redis } from 'ioredis';

/** The connection to the master at `HOST:PORT`; absent while there is none, as after one that was closed. */
export function masterAt(cluster: Cluster, address: string): Redis | undefined {
  return cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === address);
}

/** The address, `HOST:PORT`, of the master of a key or a channel; absent while the cluster knows of none. */
export function masterOf({ slots }: Cluster, name: string): string | undefined {
  return slots[slotOf(name)]?.[0];
}
