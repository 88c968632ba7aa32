import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'ioredis';
import { resubscribed } from '../redis/connection.ts';
import { openShardSubscription, type ShardSubscription } from './shard-subscription.ts';
import { type SubscriptionEvents, type Subscriptions, subscribeFirst } from './subscriptions.ts';

/** With it, a subscription stands a moment after a replica has taken over. Each try asks one server for the slots. */
const askPauseMs = 100;

/**
 * Sharded subscriptions, so that a message visits one master and not all of them. Each has a connection of its own to
 * the master of its channel: the death of another master does not touch it. ioredis would share a connection per
 * master, but renews all of them without telling which stand.
 */
export function openClusterSubscriptions(cluster: Cluster, events: SubscriptionEvents): Subscriptions {
  const missing = new Set<string>();
  const ended = new AbortController();
  cluster.once('end', () => ended.abort());
  const open = (channel: string) =>
    openShardSubscription(cluster, channel, (text) => events.onMessage(channel, text), ended.signal);

  return {
    add: async (channel) => {
      void keepUp(channel, await subscribeFirst(() => open(channel)));
    },
    isUp: (channel) => !missing.has(channel),
  };

  async function keepUp(channel: string, first: ShardSubscription): Promise<void> {
    for (let standing = first; ; ) {
      await standing.lost;
      missing.add(channel);
      const again = await openAgain(channel);
      if (!again) return;
      standing = again;
      missing.delete(channel);
      if (missing.size === 0) cluster.emit(resubscribed);
      events.onAgain();
    }
  }

  /** Absent once the cluster is closed for good. */
  async function openAgain(channel: string): Promise<ShardSubscription | undefined> {
    while (!ended.signal.aborted) {
      try {
        return await open(channel);
      } catch (error) {
        if (isComplaint(error)) cluster.emit('error', error);
        await sleep(askPauseMs, undefined, { ref: false });
      }
    }
    return undefined;
  }
}

/** For example, our user has lost the right. In a failover, masters only say that they are not the one. */
function isComplaint(error: unknown): boolean {
  return (
    error instanceof Error && error.name === 'ReplyError' && !/^(?:MOVED|CLUSTERDOWN)\b/.test(error.message)
  );
}
