import type { Clock } from '@sluice/runtime';
import type { ReplyPublisher } from '@sluice/transport';
import type { PoolWorker } from './pool-worker.ts';
import type { Presence } from './presence.ts';

/** After a hand-over: what was still pending must reach Redis. */
const handOverMs = 250;

export interface Drained {
  pools: readonly PoolWorker[];
  publisher: Pick<ReplyPublisher, 'flush'>;
  presence: Presence;
  clock: Clock;
}

/** Ends all generations of a worker: what `limit` lets, by itself; the rest goes on elsewhere or fails as ours. */
export async function drainGenerations(
  { pools, publisher, presence, clock }: Drained,
  limit: AbortSignal,
): Promise<void> {
  await presence.enter('closing');
  await Promise.all(pools.map((pool) => pool.drain(limit)));
  // The last words of what has ended go before the news, at which an ingress takes away what can go on elsewhere.
  await publisher.flush();
  await presence.enter('draining');
  await clock.sleep(handOverMs);
  await Promise.all(pools.map((pool) => pool.stop('drained')));
  await publisher.flush();
  await presence.leave();
}
