import { tryUntil } from '../redis/try-until.ts';

/** How long a first subscription is tried: Redis may refuse one for a moment, as it may refuse writes. */
const firstLimitMs = 5_000;

/** Subscriptions to channels of Redis, which come back by themselves after a cut. */
export interface Subscriptions {
  /** Resolves when Redis has acknowledged it; rejects with `unavailable` if Redis does not do that for 5 s. */
  add(channel: string): Promise<void>;
  /** Whether this one stands. A Redis that is away or silent need not show here. */
  isUp(channel: string): boolean;
}

/** What subscriptions call. */
export interface SubscriptionEvents {
  onMessage(channel: string, text: string): void;
  /** One stands again after a cut. Messages in between are lost. */
  onAgain(): void;
}

/** Tries a first subscription again and again. Rejects with `unavailable` when it does not stand after 5 s. */
export function subscribeFirst<T>(attempt: () => Promise<T>): Promise<T> {
  return tryUntil(AbortSignal.timeout(firstLimitMs), attempt, {
    sentence: (why) => `redis does not take a subscription: ${why}`,
  });
}
