import { Cluster } from 'ioredis';
import type { RedisClient } from './redis/connection.ts';
import type { QuietLine } from './redis/quiet-line.ts';
import { openClusterSubscriptions } from './subscriptions/cluster-subscriptions.ts';
import { openServerSubscriptions } from './subscriptions/server-subscriptions.ts';
import { askForSigns, type SignsOfLife } from './subscriptions/signs-of-life.ts';

/**
 * Pub/sub over one command and one subscriber connection. In a cluster it is sharded pub/sub, so that a message visits
 * one master and not all of them. Databases are kept apart, as they are for keys.
 */
export interface Bus {
  /** Resolves with the number of receivers, which is 0 while a subscriber reconnects. */
  publish(channel: string, text: string): Promise<number>;
  /**
   * Publishes after all that was published before, without learning how many receive it. It is lost if it can't be sent
   * at once, or if the connection breaks. Returns the bytes of the text; 0 if it is lost because it can't be sent at
   * once.
   */
  post(channel: string, text: string): number;
  /**
   * Resolves when Redis has acknowledged the subscription; rejects with `unavailable` if it does not do that
   * for 5 s. One listener per channel.
   */
  subscribe(channel: string, listener: (text: string) => void): Promise<void>;
  /** Called each time a subscription stands again after a cut. Messages in between are lost. */
  onResubscribed(listener: () => void): void;
  /**
   * Whether messages of this channel, or by default of all that we listen to, can reach us now: the subscriber is
   * connected, the subscription stands, and Redis answers. In a cluster, some channels may be up while others are not.
   */
  isUp(channel?: string): boolean;
  /**
   * Whether they will reach us, be it late: as `isUp`, but instead of an answer it is enough that Redis goes on sending,
   * since the answer may stand behind large messages on a slow link.
   */
  isReached(channel?: string): boolean;
  /** Whether a message would be sent at once. */
  canPublish(): boolean;
}

/** The part of a bus that needs no subscriber. */
export type Publisher = Pick<Bus, 'publish' | 'post' | 'canPublish'>;

/** Publishes by `commands`, which is not closed here, or, if there is one, by a `line` instead. */
export function createPublisher(commands: RedisClient, line?: QuietLine): Publisher {
  const scope = channelScope(commands);
  const publish = async (channel: string, text: string): Promise<number> => {
    if (line) return line.publish(channel + scope, text);
    // ioredis leaves the reply of SPUBLISH untyped; as for PUBLISH, it is the number of receivers.
    return Number(
      await (commands instanceof Cluster
        ? commands.spublish(channel, text)
        : commands.publish(channel + scope, text)),
    );
  };
  return {
    publish,
    post: (channel, text) => {
      if (line) return line.post(channel + scope, text);
      publish(channel, text).catch(() => undefined);
      return Buffer.byteLength(text);
    },
    canPublish: () => (line ? line.isUp() : commands.status === 'ready'),
  };
}

/**
 * A bus that publishes as `createPublisher` does; `subscriber` listens and does nothing else, and is not closed here
 * either. What a listener throws (for a foreign message, or by a defect) goes to `onError`, because one message must not
 * end the process.
 */
export function createBus(
  commands: RedisClient,
  subscriber: RedisClient,
  onError: (error: unknown) => void,
  line?: QuietLine,
): Bus {
  /** Listeners by the channel's name in Redis. */
  const listeners = new Map<string, (text: string) => void>();
  const whenResubscribed: (() => void)[] = [];
  const scope = channelScope(subscriber);
  const events = {
    onMessage: (channel: string, text: string): void => {
      try {
        listeners.get(channel)?.(text);
      } catch (error) {
        onError(error);
      }
    },
    onAgain: (): void => {
      for (const listener of whenResubscribed) listener();
    },
  };
  const subscriptions =
    subscriber instanceof Cluster
      ? openClusterSubscriptions(subscriber, events)
      : openServerSubscriptions(subscriber, events);
  const signs = askForSigns(subscriber, () => listeners.keys());
  /** Whether the subscription of this channel, or those of all, stand, and Redis shows this sign of life for each. */
  const stands = (channel: string | undefined, isShown: SignsOfLife['isAnswered']): boolean =>
    subscriber.status === 'ready' &&
    (channel === undefined ? [...listeners.keys()] : [channel + scope]).every(
      (name) => subscriptions.isUp(name) && isShown(name),
    );

  return {
    ...createPublisher(commands, line),
    subscribe: async (channel, listener) => {
      listeners.set(channel + scope, listener);
      await subscriptions.add(channel + scope);
    },
    onResubscribed: (listener) => whenResubscribed.push(listener),
    isUp: (channel) => stands(channel, signs.isAnswered),
    isReached: (channel) => stands(channel, signs.isSending),
  };
}

/** A suffix of channel names for a database other than 0, because Redis delivers messages across databases. */
export function channelScope(client: RedisClient): string {
  // A cluster has one database.
  const database = client instanceof Cluster ? 0 : (client.options.db ?? 0);
  return database === 0 ? '' : `@${database}`;
}
