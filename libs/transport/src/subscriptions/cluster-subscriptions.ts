import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'ioredis';
import { resubscribed } from '../redis/connection.ts';
import { openShardSubscription, type ShardSubscription } from './shard-subscription.ts';
import { limitFirst, type SubscriptionEvents, type Subscriptions } from './subscriptions.ts';

/** With it, a subscription stands a moment after a replica has taken over. Each try asks one server for the slots. */
const askPauseMs = 100;

/**
 * Sharded subscriptions, so that a message visits one master and not all of them. Each has a connection of its own to
 * the master of its channel: the death of another master does not touch it. ioredis would share a connection per
 * master, but renews all of them without telling which stand, and can lose one without an error.
 */
export function openClusterSubscriptions(cluster: Cluster, events: SubscriptionEvents): Subscriptions {
  const missing = new Set<string>();
  const open = (channel: string) =>
    openShardSubscription(cluster, channel, (text) => events.onMessage(channel, text));

  return {
    add: async (channel) => {
      const failed = limitFirst();
      for (;;) {
        try {
          void keepUp(channel, await open(channel));
          return;
        } catch (error) {
          failed(error);
          cluster.refreshSlotsCache();
          await sleep(askPauseMs);
        }
      }
    },
    isUp: (channel) => !missing.has(channel),
  };

  async function keepUp(channel: string, first: ShardSubscription): Promise<void> {
    for (let standing: ShardSubscription | undefined = first; standing; ) {
      await standing.lost;
      missing.add(channel);
      standing = await openAgain(channel);
      missing.delete(channel);
      if (!standing || missing.size > 0) continue;
      cluster.emit(resubscribed);
      events.onAgain();
    }
  }

  /** Absent once the cluster is closed for good. */
  async function openAgain(channel: string): Promise<ShardSubscription | undefined> {
    while (cluster.status !== 'end') {
      try {
        return await open(channel);
      } catch (error) {
        if (isComplaint(error)) cluster.emit('error', error);
        cluster.refreshSlotsCache();
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
