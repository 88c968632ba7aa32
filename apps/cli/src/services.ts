import { type Admission, createAdmission } from '@sluice/admission';
import { Directory } from '@sluice/tenancy';
import { openRedis, reached } from '@sluice/transport';
import type { CliConfig } from './config.ts';

/** What the commands work with. */
export interface Services extends Disposable {
  readonly directory: Directory;
  /** False where the settings hold no secret, so that no key can be minted. */
  readonly hasKeySecret: boolean;
  readonly admission: Pick<Admission, 'usage' | 'forget'>;
}

const connectLimitMs = 3_000;

/** Connects to Redis. Throws `unavailable` naming the address, without its password, when it doesn't answer in time. */
export async function openServices({ redisUrl, keySecret }: CliConfig): Promise<Services> {
  // What is in the way is said once, by the refusal.
  const redis = openRedis(redisUrl, { profile: 'command', name: 'sluice-cli', onError: () => undefined });
  try {
    await reached(redisUrl, [redis], AbortSignal.timeout(connectLimitMs));
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
