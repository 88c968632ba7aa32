import type { Cluster, Redis } from 'ioredis';

/** The connection to the master at `HOST:PORT`; absent while there is none, as after one that was closed. */
export function masterAt(cluster: Cluster, address: string): Redis | undefined {
  return cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === address);
}
