import { SluiceError } from '@sluice/canonical';
import { Redis } from 'ioredis';

const answerLimitMs = 5_000;

/**
 * Asks a Redis whether it can carry queues: it must answer and must never evict. Rejects with one sentence
 * that says what to change. The credential of the address is in no message.
 */
export async function checkRedis(url: string): Promise<void> {
  const address = printableAddress(url);
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: answerLimitMs,
    commandTimeout: answerLimitMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let complaint = 'no connection';
  // Without a listener the client prints the error itself.
  client.on('error', (error: Error) => {
    complaint = error.message || complaint;
  });
  try {
    await client.connect();
    const memory = await client.info('memory');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    if (policy === undefined || policy === 'noeviction') return;
    throw new SluiceError(
      'unavailable',
      `the Redis at ${address} has maxmemory-policy ${policy}, which would throw queued requests away; ` +
        'set it with: redis-cli config set maxmemory-policy noeviction',
    );
  } catch (thrown) {
    if (thrown instanceof SluiceError) throw thrown;
    const reason = complaint === 'no connection' && thrown instanceof Error ? thrown.message : complaint;
    throw new SluiceError('unavailable', `the Redis at ${address} ${describe(reason)}`, { cause: thrown });
  } finally {
    client.disconnect();
  }
}

function describe(reason: string): string {
  // Redis's own words for these are about its protocol.
  if (/^NOAUTH\b/.test(reason)) return 'asks for a password; the address takes it as redis://:PASSWORD@HOST';
  if (/^WRONGPASS\b/.test(reason)) return 'refuses the user or the password of the address';
  return `does not answer: ${reason}`;
}

/** Host and port of an address, without its user and password. */
export function printableAddress(url: string): string {
  if (!URL.canParse(url)) return 'an address that is not a URL';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
