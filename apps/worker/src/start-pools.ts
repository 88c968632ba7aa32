import type { Clock, Logger } from '@sluice/runtime';
import type { PoolWorker } from './pool-worker.ts';

/** How long to wait before an engine that did not start is tried again. */
const retryMs = 10_000;

/** What the start of pools reports to and waits with. */
export interface StartOptions {
  logger: Pick<Logger, 'error' | 'info'>;
  clock: Clock;
  /** Ends all waiting. */
  signal: AbortSignal;
  /**
   * Called for each pool once it takes jobs, and awaited, so that ingresses know of it when `startPools` resolves. Must
   * not reject.
   */
  onStarted(): Promise<void>;
}

/**
 * Starts all pools in parallel. Resolves when each takes jobs or has failed, or when `signal` aborts; pools whose
 * engine failed are tried again from then on. If all have failed, rejects with the first failure.
 */
export async function startPools(
  pools: readonly Pick<PoolWorker, 'name' | 'start'>[],
  options: StartOptions,
): Promise<void> {
  const { signal, onStarted } = options;
  const starts = await Promise.allSettled(pools.map((pool) => pool.start(signal).then(onStarted)));
  if (signal.aborted) return;
  const failed = pools.flatMap((pool, index) => {
    const start = starts[index];
    return start?.status === 'rejected' ? [{ pool, reason: start.reason as unknown }] : [];
  });
  if (failed.length > 0 && failed.length === pools.length) throw failed[0]?.reason;
  for (const { pool, reason } of failed) void tryAgain(pool, reason, options);
}

/** Tries to start a pool again until it starts or `signal` aborts. Never rejects. */
async function tryAgain(
  pool: Pick<PoolWorker, 'name' | 'start'>,
  reason: unknown,
  { logger, clock, signal, onStarted }: StartOptions,
): Promise<void> {
  for (let failure = reason; !signal.aborted; ) {
    const { name } = pool;
    logger.error({ err: failure, pool: name, againInMs: retryMs }, 'the engine of a pool does not start');
    try {
      await clock.sleep(retryMs, signal);
      await pool.start(signal);
      await onStarted();
      logger.info({ pool: name }, 'the engine of a pool has started');
      return;
    } catch (thrown) {
      failure = thrown;
    }
  }
}
