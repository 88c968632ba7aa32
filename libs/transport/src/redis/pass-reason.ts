import { type Redis, SentinelConnector } from 'ioredis';

/**
 * Lets a connection to sentinels fail in the words of the sentinel that was asked last: by itself ioredis says only that
 * it was closed.
 */
export class SentinelReasons extends SentinelConnector {
  constructor(options: unknown) {
    // What the connection was opened with.
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    // Private in ioredis, whose version is pinned; tests show certificates that are not trusted.
    const asking = this as unknown as { connectToSentinel(...words: unknown[]): Redis };
    const connect = asking.connectToSentinel;
    asking.connectToSentinel = (...words) => passReason(connect.apply(this, words));
  }
}

/** The same for a node of a cluster, which is asked for the slots by a connection that it opens for that. */
export function passReasonOfNode(node: Redis): void {
  const duplicate = node.duplicate;
  node.duplicate = function duplicateTeller(this: Redis, ...words: Parameters<typeof duplicate>) {
    return passReason(duplicate.apply(this, words));
  };
}

/** What waits for the connection fails by what it failed of. */
function passReason(asker: Redis): Redis {
  // Private, too.
  const { flushQueue } = asker as unknown as { flushQueue(error: Error): void };
  return asker.on('error', (error) => flushQueue.call(asker, error));
}
