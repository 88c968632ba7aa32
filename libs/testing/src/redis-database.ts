import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** An empty database of a shared Redis, held by one caller. */
export interface DatabaseClaim {
  readonly url: string;
  /** Empties the database and gives it back. */
  release(): Promise<void>;
}

const lastDatabase = 15;
// A test run that was killed frees its databases by itself.
const claimMs = 60_000;
const reconnectMs = 100;

/**
 * Claims a database index in which there is nothing, so that nobody's data is ever flushed. The claims are keys
 * of the database that the address names, which is `redis://` or `rediss://`. Rejects when nobody answers there.
 */
export async function claimDatabase(address: string): Promise<DatabaseClaim> {
  const client = await connect(address);
  const holder = randomUUID();
  const own = client.options.db ?? 0;
  for (let index = 1; index <= lastDatabase; index++) {
    if (index === own) continue;
    const key = `sluice-testing:database:${index}`;
    if ((await client.set(key, holder, 'PX', claimMs, 'NX')) !== 'OK') continue;
    const url = withDatabase(address, index);
    if (await isEmpty(url)) return hold(client, key, url);
    await client.del(key);
  }
  client.disconnect();
  throw new Error(
    'the Redis at REDIS_URL has no empty database from 1 to 15 left: empty one or unset REDIS_URL',
  );
}

/** A server that is there is waited for when it goes; one that never was is not. */
async function connect(address: string): Promise<Redis> {
  let isThere = false;
  let complaint: Error | undefined;
  const client = new Redis(address, {
    lazyConnect: true,
    retryStrategy: () => (isThere ? reconnectMs : null),
  });
  client.on('error', (error: Error) => {
    complaint = error;
  });
  try {
    await client.connect();
  } catch (thrown) {
    throw new Error('the Redis at REDIS_URL does not answer', { cause: complaint ?? thrown });
  }
  isThere = true;
  return client;
}

function hold(client: Redis, key: string, url: string): DatabaseClaim {
  const renewal = setInterval(() => void client.pexpire(key, claimMs).catch(() => undefined), claimMs / 3);
  renewal.unref();
  return {
    url,
    async release() {
      clearInterval(renewal);
      const database = new Redis(url);
      await database.flushdb();
      database.disconnect();
      await client.del(key);
      client.disconnect();
    },
  };
}

async function isEmpty(url: string): Promise<boolean> {
  const database = new Redis(url);
  try {
    return (await database.dbsize()) === 0;
  } finally {
    database.disconnect();
  }
}

function withDatabase(address: string, index: number): string {
  const url = new URL(address);
  url.pathname = `/${index}`;
  return url.href;
}
