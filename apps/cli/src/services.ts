import { type Admission, createAdmission } from '@sluice/admission';
import { SluiceError } from '@sluice/canonical';
import { Directory } from '@sluice/tenancy';
import { connected, openRedis } from '@sluice/transport';
import type { CliConfig } from './config.ts';

/** What the commands work with. */
export interface Services extends Disposable {
  readonly directory: Directory;
  /** False where the settings hold no secret, so that no key can be minted. */
  readonly hasKeySecret: boolean;
  readonly admission: Pick<Admission, 'usage'>;
}

const connectLimitMs = 3_000;

/** Connects to Redis. Throws `unavailable` naming the address, without its password, when it doesn't answer in time. */
export async function openServices({ redisUrl, keySecret }: CliConfig): Promise<Services> {
  let lastError = 'no answer';
  const redis = openRedis(redisUrl, {
    profile: 'command',
    name: 'sluice-cli',
    onError: (error) => {
      lastError = error.message || lastError;
    },
  });
  try {
    await connected(redis, AbortSignal.timeout(connectLimitMs));
  } catch (cause) {
    redis.disconnect();
    throw new SluiceError('unavailable', `redis at ${addressOf(redisUrl)} is not reachable: ${lastError}`, {
      cause,
    });
  }
  return {
    directory: new Directory({ redis, ...(keySecret !== undefined && { secret: keySecret }) }),
    hasKeySecret: keySecret !== undefined,
    admission: createAdmission({ redis }),
    [Symbol.dispose]: () => redis.disconnect(),
  };
}

function addressOf(redisUrl: string): string {
  return redisUrl.replace(/^[^/]*\/\//, '').replace(/^.*@/, '');
}
