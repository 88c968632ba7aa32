import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis/connection.ts';

/** Who asks nothing would notice nothing. */
const askIntervalMs = 500;
/** Questions in a row after which it is Redis that says nothing, and nobody else. Counted, since our process may stand still, too. */
const unansweredLimit = 2;

/**
 * Asks Redis for a sign of life, again and again until the connection ends, and returns what tells whether it gives any.
 * In a cluster the questions go to each master and not through the subscriptions, which TCP's keep-alive watches.
 */
export function askForSigns(subscriber: RedisClient): () => boolean {
  const unanswered = new WeakMap<Redis, number>();
  const nodes = (): Redis[] =>
    subscriber instanceof Cluster ? subscriber.nodes('master') : [subscriber as Redis];
  const ask = (node: Redis): void => {
    // What is on its way is asked for its role by itself; a cluster's nodes wait for their first command.
    if (node.status !== 'ready' && node.status !== 'wait') return;
    const answered = (): void => void unanswered.delete(node);
    unanswered.set(node, (unanswered.get(node) ?? 0) + 1);
    // An answer that does not come closes the connection, and then it is opened again.
    node.ping().then(answered, answered);
  };
  const timer = setInterval(() => nodes().forEach(ask), askIntervalMs);
  timer.unref();
  subscriber.once('end', () => clearInterval(timer));
  return () =>
    nodes().every((node) => node.status !== 'connect' && (unanswered.get(node) ?? 0) < unansweredLimit);
}
