import type { Clock } from '@sluice/runtime';
import type { ReplyPublisher } from '@sluice/transport';
import type { PoolWorker } from './pool-worker.ts';
import type { Presence } from './presence.ts';

/** How long ingresses have to take away what can go on elsewhere, before the rest is ended. */
const handOverMs = 250;

/** The parts of a worker that a drain ends. */
export interface Drained {
  pools: readonly PoolWorker[];
  publisher: Pick<ReplyPublisher, 'flush' | 'delivered'>;
  presence: Presence;
  clock: Clock;
}

/**
 * Ends all generations of a worker. Until `limit` aborts they may finish, and readers may get what is kept for them; then
 * the rest moves elsewhere or fails.
 */
export async function drainGenerations(
  { pools, publisher, presence, clock }: Drained,
  limit: AbortSignal,
): Promise<void> {
  await presence.enter('closing');
  await Promise.all(pools.map((pool) => pool.drain(limit)));
  // The last frames must be out before the news that we drain, at which ingresses take away what can go on elsewhere.
  await publisher.flush();
  // An answer that has ended is here alone while its reader is slow, its ingress is behind, or Redis is away.
  await publisher.delivered(limit);
  await presence.enter('draining');
  await clock.sleep(handOverMs);
  await Promise.all(pools.map((pool) => pool.stop('drained')));
  await publisher.flush();
  await presence.leave();
}
