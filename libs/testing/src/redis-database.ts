import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** An empty database of a shared Redis, held by one caller. */
export interface DatabaseClaim {
  readonly url: string;
  /** Empties the database and gives it back. */
  release(): Promise<void>;
}

const lastDatabase = 15;
// The claims of a killed test run expire by themselves.
const claimMs = 60_000;
const reconnectMs = 100;

/**
 * Claims a database index that is empty, so that nobody's data is ever flushed. The claims are keys in the database
 * that `address` names, a `redis://` or `rediss://` URL. Rejects if no server answers there.
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

/** Reconnects to a server that was there once; gives up at once on a server that never answered. */
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
