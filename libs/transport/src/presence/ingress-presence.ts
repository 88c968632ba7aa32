import type { Bus } from '../bus.ts';
import type { Links } from '../links.ts';
import { ingressKey, replyChannel } from '../names.ts';
import type { RedisClient } from '../redis/connection.ts';
import { decodeBatch, type ReplyBatch } from '../replies/frame.ts';

/** An ingress whose key has not been renewed for this long counts as gone. */
const lifetimeMs = 10_000;
const renewIntervalMs = 2_500;

/** Subscribes to the reply channel of this ingress. Resolves when the subscription stands. */
export function subscribeReplies(
  bus: Bus,
  ingress: string,
  receive: (batch: ReplyBatch) => void,
): Promise<void> {
  return bus.subscribe(replyChannel(ingress), (text) => receive(decodeBatch(text)));
}

/** Whether replies would reach this ingress now. */
export function hearsReplies(links: Pick<Links, 'isListening'>, ingress: string): boolean {
  return links.isListening(replyChannel(ingress));
}

/** Whether replies will reach this ingress, be it late. */
export function repliesReach(links: Pick<Links, 'isReached'>, ingress: string): boolean {
  return links.isReached(replyChannel(ingress));
}

/**
 * Keeps this ingress's sign of life in Redis. The returned function stops that and deletes it. A Redis that is full
 * refuses to make the sign, and is asked again and again; until then the ingress counts as gone, but has no job there.
 */
export async function announceIngress(redis: RedisClient, ingress: string): Promise<() => Promise<void>> {
  const renew = () => renewSign(redis, ingressKey(ingress));
  await renew().catch((error: Error) => {
    if (!error.message.startsWith('OOM')) throw error;
  });
  const renewSoon = (): void => void renew().catch(() => undefined);
  const timer = setInterval(renewSoon, renewIntervalMs);
  // It may have expired while Redis was away, and comes back before the first job that is sent then: workers that have
  // given the ingress up do not run its jobs without it.
  redis.on('ready', renewSoon);
  return async () => {
    clearInterval(timer);
    redis.off('ready', renewSoon);
    await redis.del(ingressKey(ingress)).catch(() => undefined);
  };
}

/** A full Redis refuses SET but not PEXPIRE, so the sign of an ingress that lives does not expire there. */
async function renewSign(redis: RedisClient, key: string): Promise<void> {
  const isThere = (await redis.pexpire(key, lifetimeMs)) === 1;
  if (!isThere) await redis.set(key, '1', 'PX', lifetimeMs);
}

/**
 * Whether an ingress has shown a sign of life lately. Rejects if it may only lack the chance to show one, because Redis
 * takes no writes.
 */
export async function isIngressAlive(redis: RedisClient, ingress: string): Promise<boolean> {
  const key = ingressKey(ingress);
  // Of a key that is gone, nothing is there to write.
  return (await redis.exists(key)) === 1 || (await redis.persist(key)) === 1;
}
