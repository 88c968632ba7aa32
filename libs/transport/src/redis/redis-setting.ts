import { secretText } from '@sluice/runtime';
import { parseRedisAddress } from './redis-address.ts';

/** The URL of a Redis in an environment: read as all other settings are, and masked wherever they are printed. */
export function redisUrl() {
  return secretText().superRefine((url, context) => {
    try {
      parseRedisAddress(url);
    } catch (thrown) {
      context.addIssue({ code: 'custom', message: thrown instanceof Error ? thrown.message : 'is no URL' });
    }
  });
}

/** Where a process looks that is told nothing: the port that every Redis has. */
export const usualRedis = 'redis://127.0.0.1:6379';
