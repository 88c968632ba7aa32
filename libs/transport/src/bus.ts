import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/canonical';
import { Cluster } from 'ioredis';
import { type RedisClient, resubscribed } from './redis/connection.ts';
import { askForSigns } from './signs-of-life.ts';

const askPauseMs = 250;
/** Longer than the about 2 s for which ioredis retries a command while a cluster finds its new master. */
const askLimitMs = 5_000;
/** How long a first subscription is tried: Redis may refuse one for a moment, as it may refuse writes. */
const firstLimitMs = 5_000;

/**
 * Pub/sub over one command and one subscriber connection. In a cluster it is sharded pub/sub, so that a message visits
 * one master and not all of them. Databases are kept apart, as they are for keys.
 */
export interface Bus {
  /** Resolves with the number of receivers, which is 0 while a subscriber reconnects. */
  publish(channel: string, text: string): Promise<number>;
  /**
   * Resolves when Redis has acknowledged the subscription; rejects with `unavailable` if it refuses that for 5 s. One
   * listener per channel.
   */
  subscribe(channel: string, listener: (text: string) => void): Promise<void>;
  /** Called each time the subscriptions stand again after a cut. Messages in between are lost. */
  onResubscribed(listener: () => void): void;
  /** Whether messages can reach us now: the subscriber is connected, its subscriptions stand, and Redis answers. */
  isUp(): boolean;
  /** Whether a message would be sent at once. */
  canPublish(): boolean;
}

/**
 * `commands` publishes; `subscriber` listens and does nothing else. Neither is closed here. What a listener throws (for
 * a foreign message, or by a defect) goes to `onError`, because one message must not end the process.
 */
export function createBus(
  commands: RedisClient,
  subscriber: RedisClient,
  onError: (error: unknown) => void,
): Bus {
  /** Listeners by the channel's name in Redis. */
  const listeners = new Map<string, (text: string) => void>();
  const whenResubscribed: (() => void)[] = [];
  const scope = scopeOf(subscriber);
  const isSharded = subscriber instanceof Cluster;
  // A bus that only publishes has no subscriber of its own.
  const isAnswered = subscriber === commands ? () => true : askForSigns(subscriber, () => listeners.keys());
  let wasUp = false;
  /** Whether the subscriptions have been made on the current connection. */
  let stands = true;
  let readies = 0;

  const receive = (channel: string, text: string): void => {
    try {
      listeners.get(channel)?.(text);
    } catch (error) {
      onError(error);
    }
  };
  subscriber.on(isSharded ? 'smessage' : 'message', receive);
  const shards = isSharded
    ? watchShards(
        subscriber,
        () => listeners.keys(),
        () => tellResubscribed(),
      )
    : undefined;
  subscriber.on('ready', () => {
    if (wasUp && !isSharded) void subscribeAgain();
    wasUp = true;
  });

  const subscribeOn = async (channel: string): Promise<void> => {
    if (isSharded) await subscriber.ssubscribe(channel);
    else await subscriber.subscribe(channel);
  };
  const subscribeFirst = async (channel: string): Promise<void> => {
    const giveUpAt = performance.now() + firstLimitMs;
    for (;;) {
      try {
        await subscribeOn(channel);
        return;
      } catch (cause) {
        if (performance.now() >= giveUpAt) {
          const why = cause instanceof Error ? cause.message : 'no answer';
          throw new SluiceError('unavailable', `redis refuses a subscription: ${why}`, { cause });
        }
        if (isSharded) await forget(subscriber, channel);
        await sleep(askPauseMs);
      }
    }
  };
  const tellResubscribed = (): void => {
    if (listeners.size === 0) return;
    for (const listener of whenResubscribed) listener();
  };
  const subscribeAgain = async (): Promise<void> => {
    readies += 1;
    const ready = readies;
    stands = false;
    // If the connection goes away again, its next 'ready' repeats this.
    const isCurrent = () => ready === readies && subscriber.status === 'ready';
    while (!stands) {
      try {
        await Promise.all(Array.from(listeners.keys(), subscribeOn));
        stands = ready === readies;
      } catch (error) {
        if (!isCurrent()) return;
        // For example, our user has lost the right. The connection stands, so nothing else would try again.
        subscriber.emit('error', error);
        await sleep(askPauseMs, undefined, { ref: false });
      }
      if (!isCurrent()) return;
    }
    subscriber.emit(resubscribed);
    tellResubscribed();
  };

  return {
    publish: async (channel, text) =>
      // ioredis leaves the reply of SPUBLISH untyped; as for PUBLISH, it is the number of receivers.
      Number(await (isSharded ? commands.spublish(channel, text) : commands.publish(channel + scope, text))),
    subscribe: async (channel, listener) => {
      listeners.set(channel + scope, listener);
      await subscribeFirst(channel + scope);
      wasUp = true;
    },
    onResubscribed: (listener) => whenResubscribed.push(listener),
    isUp: () => subscriber.status === 'ready' && stands && shards?.areAllUp() !== false && isAnswered(),
    canPublish: () => commands.status === 'ready',
  };
}

/** A suffix of channel names for a database other than 0, because Redis delivers messages across databases. */
function scopeOf(client: RedisClient): string {
  // A cluster has one database.
  const database = client instanceof Cluster ? 0 : (client.options.db ?? 0);
  return database === 0 ? '' : `@${database}`;
}

/**
 * Keeps a cluster's subscriptions up. Its subscriber has one connection per master, stays 'ready' when it loses one,
 * and renews them without telling which subscriptions stand. So after every loss each channel is subscribed again until
 * Redis has acknowledged it, which does nothing if it still stands. `onAgain` is called when all stand.
 */
function watchShards(
  subscriber: Cluster,
  channels: () => Iterable<string>,
  onAgain: () => void,
): { areAllUp(): boolean } {
  const missing = new Set<string>();
  let losses = 0;
  let isAsking = false;

  const ask = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    const failed = new Set<string>();
    while (missing.size > 0 && subscriber.status !== 'end') {
      for (const channel of [...missing]) {
        const lossesBefore = losses;
        const stands = subscriber.status === 'ready' && (await subscribeAgain(channel, failed.has(channel)));
        if (!stands) failed.add(channel);
        else if (losses === lossesBefore) missing.delete(channel);
      }
      if (missing.size > 0) await sleep(askPauseMs, undefined, { ref: false });
    }
    isAsking = false;
    if (missing.size === 0) onAgain();
  };
  const subscribeAgain = async (channel: string, hasFailed: boolean): Promise<boolean> => {
    if (hasFailed) await forget(subscriber, channel);
    return succeedsInTime(subscriber.ssubscribe(channel));
  };
  const lose = (): void => {
    losses += 1;
    for (const channel of channels()) missing.add(channel);
    if (missing.size > 0) void ask();
  };
  // The event names the node only if a subscriber was lost; without a name it is about the connections for commands.
  subscriber.on('-node', (_node: unknown, key?: string) => {
    if (key !== undefined) lose();
  });
  subscriber.on('ready', lose);
  // A slot has moved to another master, which ends the subscriptions in it. ioredis asks once where the slot is now,
  // possibly a node that has not heard of the move, and subscribes once there, possibly at a node that has not heard of
  // it either. The emitter is private to ioredis, whose version is pinned; a test moves a slot.
  const { subscriberGroupEmitter } = subscriber as unknown as { subscriberGroupEmitter?: EventEmitter };
  subscriberGroupEmitter?.on('moved', lose);
  return { areAllUp: () => missing.size === 0 };
}

/** With every attempt at a channel, ioredis notes it once more; unsubscribing makes it forget all of them. */
async function forget(subscriber: Cluster, channel: string): Promise<void> {
  await succeedsInTime(subscriber.sunsubscribe(channel));
}

/**
 * Resolves with whether the command succeeded within the limit. A command that ioredis has lost must not hold up
 * others.
 */
async function succeedsInTime(command: Promise<unknown>): Promise<boolean> {
  const succeeded = command.then(
    () => true,
    () => false,
  );
  return Promise.race([succeeded, sleep(askLimitMs, false, { ref: false })]);
}
