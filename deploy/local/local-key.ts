import { createHmac } from 'node:crypto';
import { SluiceError } from '@sluice/canonical';
import { createKeyStore, type RandomBytes } from '@sluice/tenancy';
import { checkRedis, openRedis, reached } from '@sluice/transport';

const tenant = 'local';
const answerLimitMs = 5_000;
const generations = 100;
const foreignSecret =
  'this Redis holds keys of another SLUICE_KEY_SECRET; give that one, or another Redis or database';

/**
 * Makes sure that this Redis knows the local key, and returns its credential. The key is derived from the secret, so a
 * Redis that lost everything gets the same key again and clients need no change. If the key was revoked, the next of
 * the series takes its place. Rejects with a sentence if Redis does not answer or cannot be used.
 */
export async function ensureLocalKey(redisUrl: string, secret: string): Promise<string> {
  const redis = openRedis(redisUrl, { profile: 'command', name: 'sluice-start', onError: () => undefined });
  try {
    const isHopeless = new AbortController();
    // A person waits for `npm start`, so the first failed connection ends it.
    redis.once('reconnecting', () => isHopeless.abort());
    const limit = AbortSignal.any([isHopeless.signal, AbortSignal.timeout(answerLimitMs)]);
    await reached(redisUrl, [redis], limit);
    await checkRedis(redis);
    for (let generation = 0; generation < generations; generation++) {
      const keys = createKeyStore({ redis, secret, randomBytes: deriveBytes(secret, generation) });
      // Minting would mark our secret as the one in use, and the CLI would then refuse the secret of the ingresses.
      if (!(await keys.directory.knowsSecret())) throw new SluiceError('unavailable', foreignSecret);
      await keys.directory.upsertTenant(tenant, { name: 'Local use' });
      // The series is the same each time, so minting a key that exists changes nothing but its date.
      const { credential } = await keys.directory.mint({ tenant, name: 'npm start' });
      if (await isGood(keys.authenticate([credential]))) return credential;
    }
    throw new SluiceError('internal', `none of ${generations} local keys is accepted`);
  } finally {
    redis.disconnect();
  }
}

/** Endless bytes that look random and are the same for the same secret and generation. */
function deriveBytes(secret: string, generation: number): RandomBytes {
  let counter = 0;
  return (size) => {
    const parts: Buffer[] = [];
    for (let length = 0; length < size; length += 32) {
      parts.push(createHmac('sha256', secret).update(`local key ${generation}.${counter++}`).digest());
    }
    return Buffer.concat(parts).subarray(0, size);
  };
}

async function isGood(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer;
    return true;
  } catch (thrown) {
    if (thrown instanceof SluiceError && thrown.kind === 'unauthenticated') return false;
    throw thrown;
  }
}
