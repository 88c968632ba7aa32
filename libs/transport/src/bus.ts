import { Cluster } from 'ioredis';
import type { RedisClient } from './connection.ts';

/**
 * Pub/sub over one command and one subscriber connection. In a cluster it is sharded pub/sub, so that a
 * message visits one master and not all of them.
 */
export interface Bus {
  /** Resolves with the number of receivers, which is 0 while a subscriber reconnects. */
  publish(channel: string, text: string): Promise<number>;
  /** Resolves when Redis has acknowledged the subscription. One listener per channel. */
  subscribe(channel: string, listener: (text: string) => void): Promise<void>;
  /** Told each time the subscriptions stand again after a cut: what came in between is lost. */
  onResubscribed(listener: () => void): void;
  /** Whether the subscriber is connected now. */
  isUp(): boolean;
  /** Whether a message would be sent at once. */
  canPublish(): boolean;
}

/**
 * `commands` sends, `subscriber` listens and does nothing else. Neither is closed here. What a listener throws
 * (a message that is none of ours, a defect) goes to `onError`: one message must not end the process.
 */
export function createBus(
  commands: RedisClient,
  subscriber: RedisClient,
  onError: (error: unknown) => void,
): Bus {
  const listeners = new Map<string, (text: string) => void>();
  const resubscribed: (() => void)[] = [];
  const isSharded = subscriber instanceof Cluster;
  let wasUp = false;

  const receive = (channel: string, text: string): void => {
    try {
      listeners.get(channel)?.(text);
    } catch (error) {
      onError(error);
    }
  };
  subscriber.on(isSharded ? 'smessage' : 'message', receive);
  const shards = isSharded ? watchShards(subscriber, () => tellResubscribed()) : undefined;
  subscriber.on('ready', () => {
    if (wasUp && !isSharded) void subscribeAgain();
    wasUp = true;
  });

  const subscribeOn = async (channel: string): Promise<void> => {
    if (isSharded) await subscriber.ssubscribe(channel);
    else await subscriber.subscribe(channel);
  };
  const tellResubscribed = (): void => {
    if (listeners.size === 0) return;
    for (const listener of resubscribed) listener();
  };
  // ioredis resubscribes by itself, but tells nobody when: asking again costs nothing and gives the moment.
  const subscribeAgain = async (): Promise<void> => {
    try {
      for (const channel of listeners.keys()) await subscribeOn(channel);
    } catch {
      // The connection went away again; the next 'ready' repeats this.
      return;
    }
    tellResubscribed();
  };

  return {
    publish: async (channel, text) =>
      // ioredis leaves the reply of SPUBLISH untyped; it is the number of receivers as for PUBLISH.
      Number(await (isSharded ? commands.spublish(channel, text) : commands.publish(channel, text))),
    subscribe: async (channel, listener) => {
      listeners.set(channel, listener);
      await subscribeOn(channel);
      wasUp = true;
    },
    onResubscribed: (listener) => resubscribed.push(listener),
    isUp: () => subscriber.status === 'ready' && shards?.areAllUp() !== false,
    canPublish: () => commands.status === 'ready',
  };
}

/**
 * A cluster's subscriber has one connection per master and stays 'ready' when it loses one of them. `onAgain` is
 * called when all stand again, subscriptions included.
 */
function watchShards(subscriber: Cluster, onAgain: () => void): { areAllUp(): boolean } {
  let isLost = false;
  let hasFailed = false;
  // Only a subscriber's loss names the node; the same event without a name is about commands.
  subscriber.on('-node', (_node: unknown, key?: string) => {
    if (key !== undefined) isLost = true;
  });
  subscriber.on('error', () => {
    hasFailed = isLost;
  });
  // It comes after every attempt to replace what was lost, also after one that failed.
  subscriber.on('subscribersReady', () => {
    isLost = hasFailed;
    hasFailed = false;
    if (!isLost) onAgain();
  });
  return { areAllUp: () => !isLost };
}
