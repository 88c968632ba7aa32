import { type Admission, createAdmission } from '@sluice/admission';
import { Directory } from '@sluice/tenancy';
import { checkRedis, openRedis, reached } from '@sluice/transport';
import type { CliConfig } from './config.ts';

/** What the commands work with. */
export interface Services extends Disposable {
  readonly directory: Directory;
  /** False if the settings hold no secret: then no key can be minted. */
  readonly hasKeySecret: boolean;
  readonly admission: Pick<Admission, 'usage' | 'forget' | 'forgetKeys'>;
}

const connectLimitMs = 3_000;

/**
 * Connects to Redis. If it does not answer in time, throws `unavailable` with the address, without its password; also if
 * it is one that no ingress would work with.
 */
export async function openServices({ redisUrl, keySecret }: CliConfig): Promise<Services> {
  // Connection errors are not printed one by one: `reached` throws with the reason.
  const redis = openRedis(redisUrl, { profile: 'command', name: 'sluice-cli', onError: () => undefined });
  try {
    await reached(redisUrl, [redis], AbortSignal.timeout(connectLimitMs));
    await checkRedis(redis);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  return {
    directory: new Directory({ redis, ...(keySecret !== undefined && { secret: keySecret }) }),
    hasKeySecret: keySecret !== undefined,
    admission: createAdmission({ redis }),
    [Symbol.dispose]: () => redis.disconnect(),
  };
}
