import { SentinelConnector } from 'ioredis';

/**
 * Asks every sentinel, if need be, each time that a connection is made, beginning with the one after that which was
 * asked last: it may have named a master that is gone. By itself, ioredis goes through its list once for many
 * connections. At the end of the list, it reports that all sentinels are unreachable and waits before it asks any, even
 * if each of them has answered.
 */
export class SentinelRounds extends SentinelConnector {
  override connect(
    ...words: Parameters<SentinelConnector['connect']>
  ): ReturnType<SentinelConnector['connect']> {
    // `reset(true)` puts the sentinel that `next` has returned first, and keeps the order of the others.
    const { done } = this.sentinelIterator.next();
    this.sentinelIterator.reset(!done);
    return super.connect(...words);
  }
}
