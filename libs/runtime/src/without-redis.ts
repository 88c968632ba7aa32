import { SluiceError } from '@sluice/canonical';

/** The `refusedBy` of what is refused because Redis is away or slow. */
export const redisRefusal = 'redis';

/** The refusal of a request that needs a Redis which is away or slow. */
export function withoutRedis(message: string, cause?: unknown): SluiceError {
  return new SluiceError('unavailable', message, { refusedBy: redisRefusal, retryAfterMs: 1_000, cause });
}
