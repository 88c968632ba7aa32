import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/canonical';

/** How long a first subscription is tried: Redis may refuse one for a moment, as it may refuse writes. */
const firstLimitMs = 5_000;
const askPauseMs = 250;

/** Subscriptions to channels of Redis, which come back by themselves after a cut. */
export interface Subscriptions {
  /** Resolves when Redis has acknowledged it; rejects with `unavailable` if Redis refuses that for 5 s. */
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

/** Tries a first subscription again and again. Rejects with `unavailable` when Redis has refused it for 5 s. */
export async function subscribeFirst<T>(attempt: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + firstLimitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (performance.now() >= giveUpAt) {
        const why = cause instanceof Error ? cause.message : 'no answer';
        throw new SluiceError('unavailable', `redis refuses a subscription: ${why}`, { cause });
      }
    }
    await sleep(askPauseMs);
  }
}
