import { type Clock, type Logger, lookRegularly, type RegularLook } from '@sluice/runtime';
import type { Directory, KnownKeys } from '@sluice/tenancy';

const everyMs = 1000;

/** How the keys in Redis are watched. */
export interface KeyWatchOptions {
  directory: Pick<Directory, 'keysKnown'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  clock: Clock;
}

/** A watch over the stored keys. */
export interface KeyWatch extends Pick<RegularLook, 'close'> {
  /** Whether any of them were of use at the last look. */
  areOurs(): boolean;
}

/**
 * Tells when no stored key is of use any more: then every request gets 401, which looks like a mistake of the callers,
 * while Redis answers as always. `first` is what was found at the start.
 */
export function watchKeys(first: KnownKeys, { directory, logger, clock }: KeyWatchOptions): KeyWatch {
  let last = first;
  if (first === 'foreign') tell(first, logger);
  // A failed look changes nothing: others notice that Redis is away.
  const { close } = lookRegularly(clock, everyMs, async () => {
    const found = await directory.keysKnown();
    if (found === last) return;
    last = found;
    tell(found, logger);
  });
  return { areOurs: () => last === 'ours', close };
}

function tell(found: KnownKeys, logger: Pick<Logger, 'info' | 'warn'>): void {
  switch (found) {
    case 'ours':
      logger.info('redis has keys of this SLUICE_KEY_SECRET');
      break;
    case 'foreign':
      logger.warn(
        'the newest keys in this Redis are of another SLUICE_KEY_SECRET: requests with them are refused with 401',
      );
      break;
    case 'none':
      logger.warn(
        'redis has lost all keys: requests are refused with 401 until they are restored or minted anew',
      );
      break;
    default:
      found satisfies never;
  }
}
