import type { Clock, Logger, Timer } from '@sluice/runtime';
import type { Directory } from '@sluice/tenancy';

/** How the keys in Redis are watched. */
export interface KeyWatchOptions {
  directory: Pick<Directory, 'keysKnown'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  clock: Clock;
  /** Milliseconds between two looks; default 1,000. */
  everyMs?: number;
}

/**
 * Tells when no stored key is of use any more: then every request gets 401, which looks like a mistake of the callers,
 * while Redis answers as always. `first` is what was found at the start.
 */
export function watchKeys(
  first: Awaited<ReturnType<Directory['keysKnown']>>,
  { directory, logger, clock, everyMs = 1000 }: KeyWatchOptions,
): { close(): Promise<void> } {
  let last = first;
  let timer: Timer | undefined;
  let looking: Promise<void> | undefined;
  if (first === 'foreign') tellForeign(logger);

  const look = async (): Promise<void> => {
    const found = await directory.keysKnown();
    if (found === last) return;
    last = found;
    if (found === 'foreign') tellForeign(logger);
    else if (found === 'none')
      logger.warn(
        'redis has lost all keys: requests are refused with 401 until they are restored or minted anew',
      );
    else logger.info('redis has keys of this SLUICE_KEY_SECRET');
  };
  const schedule = (): void => {
    timer = clock.after(everyMs, () => {
      schedule();
      // A failed look changes nothing: others notice that Redis is away.
      looking ??= look()
        .catch(() => undefined)
        .finally(() => {
          looking = undefined;
        });
    });
    timer.unref();
  };
  schedule();
  return {
    close: async () => {
      timer?.cancel();
      await looking;
    },
  };
}

function tellForeign(logger: Pick<Logger, 'warn'>): void {
  logger.warn(
    'the keys in this Redis are of another SLUICE_KEY_SECRET: requests with them are refused with 401',
  );
}
