import { secretText } from '@sluice/runtime';
import { parseRedisAddress } from './redis-address.ts';

/** The setting for the URL of a Redis. It may come from a file, and is masked wherever settings are printed. */
export function redisUrl() {
  return secretText().superRefine((url, context) => {
    try {
      parseRedisAddress(url);
    } catch (thrown) {
      context.addIssue({ code: 'custom', message: thrown instanceof Error ? thrown.message : 'is no URL' });
    }
  });
}

/** The default: Redis' usual port on this machine. */
export const usualRedis = 'redis://127.0.0.1:6379';
