import type { Redis } from 'ioredis';
import { SentinelRounds } from './sentinel-rounds.ts';

/**
 * Lets a connection to sentinels fail with the error of the sentinel that was asked last. By itself, ioredis only says
 * that the connection was closed.
 */
export class SentinelReasons extends SentinelRounds {
  constructor(options: unknown) {
    // ioredis passes the options of the connection.
    super(options as ConstructorParameters<typeof SentinelRounds>[0]);
    // Private in ioredis, whose version is pinned; tests show certificates that are not trusted.
    const asking = this as unknown as { connectToSentinel(...words: unknown[]): Redis };
    const connect = asking.connectToSentinel;
    asking.connectToSentinel = (...words) => passReason(connect.apply(this, words));
  }
}

/** Does the same for a node of a cluster, which opens a second connection to be asked for the slots. */
export function passReasonOfNode(node: Redis): void {
  const duplicate = node.duplicate;
  node.duplicate = function duplicateTeller(this: Redis, ...words: Parameters<typeof duplicate>) {
    return passReason(duplicate.apply(this, words));
  };
}

/** Rejects the commands that wait for this connection with the error that it failed with. */
function passReason(asker: Redis): Redis {
  // Private, too.
  const { flushQueue } = asker as unknown as { flushQueue(error: Error): void };
  return asker.on('error', (error) => flushQueue.call(asker, error));
}
