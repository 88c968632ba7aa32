import type { Redis } from 'ioredis';

/** Redis 6 puts what a command of a script was told behind words of its own. */
const refusal = /^(?:ERR .*-)?(?:READONLY|MASTERDOWN|LOADING) /;

/**
 * Whether a command was refused because its server is no master any more: a managed failover moves the address and
 * may leave the old connections where they are.
 */
export function isRefusedByReplica(error: Error): boolean {
  return refusal.test(error.message);
}

/**
 * Gives a connection up that was made to a replica, and says so as an error: it is tried again until there is a master
 * behind its address, and is not ready before.
 */
export function shunReplicas(node: Redis): void {
  // Private in ioredis, whose version is pinned; it asks this of sentinels' servers, and a test demotes one of ours.
  const { connector } = node as unknown as { connector: { check(info: { role?: string }): boolean } };
  const check = connector.check;
  connector.check = function checkRole(this: typeof connector, info) {
    if (info.role !== 'slave') return check.call(this, info);
    node.emit('error', new Error('it is a replica, and takes nothing'));
    return false;
  };
}
