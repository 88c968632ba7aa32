import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { resubscribed } from '../redis/connection.ts';
import { type SubscriptionEvents, type Subscriptions, subscribeFirst } from './subscriptions.ts';

const askPauseMs = 250;

/** All subscriptions are on one connection to one server. They are made again after each `ready`. */
export function openServerSubscriptions(subscriber: Redis, events: SubscriptionEvents): Subscriptions {
  const channels = new Set<string>();
  let wasUp = false;
  /** Whether the subscriptions have been made on the current connection. */
  let stand = true;
  let readies = 0;

  subscriber.on('message', events.onMessage);
  subscriber.on('ready', () => {
    if (wasUp) void subscribeAgain();
    wasUp = true;
  });

  const subscribeAgain = async (): Promise<void> => {
    readies += 1;
    const ready = readies;
    stand = false;
    // If the connection goes away again, its next 'ready' repeats this.
    const isCurrent = () => ready === readies && subscriber.status === 'ready';
    while (!stand) {
      try {
        await Promise.all(Array.from(channels, (channel) => subscriber.subscribe(channel)));
        stand = ready === readies;
      } catch (error) {
        if (!isCurrent()) return;
        // For example, our user has lost the right. The connection stands, so nothing else would try again.
        subscriber.emit('error', error);
        await sleep(askPauseMs, undefined, { ref: false });
      }
      if (!isCurrent()) return;
    }
    subscriber.emit(resubscribed);
    if (channels.size > 0) events.onAgain();
  };

  return {
    add: async (channel) => {
      channels.add(channel);
      await subscribeFirst(() => subscriber.subscribe(channel));
      wasUp = true;
    },
    isUp: () => stand,
  };
}
