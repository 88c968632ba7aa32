import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createKeyStore, type KeyStore, type KeyStoreOptions } from './key-store.ts';

const secret = 'a secret of the tests';
const unheardOf = `sk-${'x'.repeat(43)}`;
const aDayMs = 86_400_000;

let server: OwnTestRedis;
let closers: (() => void)[] = [];
let now = Date.UTC(2026, 0, 1);
/** What the monotonic clock of the stores shows. */
let elapsedMs = 0;

beforeAll(async () => {
  server = await startOwnRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  const redis = await connect();
  await redis.flushall();
});
afterEach(() => {
  for (const close of closers) close();
  closers = [];
});

/** Commands fail fast; a subscriber waits until it can subscribe again. */
async function connect(use: 'command' | 'subscriber' = 'command'): Promise<Redis> {
  const failFast = { enableOfflineQueue: false, maxRetriesPerRequest: 0 };
  const redis = new Redis(server.url, {
    lazyConnect: true,
    retryStrategy: () => 20,
    // The store subscribes by itself; what the client asks again is a rejection for nobody when the test ends first.
    ...(use === 'command' ? failFast : { maxRetriesPerRequest: null, autoResubscribe: false }),
  });
  redis.on('error', () => undefined);
  closers.push(() => redis.disconnect());
  await redis.connect();
  return redis;
}

/** One ingress' view: its own connections, and a cache that would keep everything for a day. */
async function openStore(
  options: Partial<KeyStoreOptions> = {},
): Promise<KeyStore & { subscriber: Redis; redis: Redis }> {
  const redis = await connect();
  const subscriber = await connect('subscriber');
  const store = createKeyStore({
    redis,
    subscriber,
    secret,
    now: () => now,
    monotonic: () => elapsedMs,
    cacheMs: aDayMs,
    unknownCacheMs: aDayMs,
    lookupTimeoutMs: 200,
    ...options,
  });
  await store.start();
  return { ...store, subscriber, redis };
}

async function mintFor(
  store: KeyStore,
  options: { name?: string; models?: string[]; expiresAt?: number } = {},
) {
  await store.directory.upsertTenant('acme');
  return store.directory.mint({ tenant: 'acme', ...options });
}

/** The second store opens after the minting, so that it hears nothing of it and keeps what it finds. */
async function openWithCachedKey(options: Partial<KeyStoreOptions> = {}) {
  const here = await openStore();
  const minted = await mintFor(here);
  const there = await openStore(options);
  await there.authenticate([minted.credential]);
  return { here, there, ...minted };
}

it('a key is found although our own process stood still for longer than the limit', async () => {
  const { credential } = await mintFor(await openStore());
  const store = await openStore({ lookupTimeoutMs: 100 });
  const caller = store.authenticate([credential]);
  const end = performance.now() + 300;
  while (performance.now() < end);
  expect((await caller).tenant).toBe('acme');
});

it('a minted key tells its tenant, its limits and what it may use', async () => {
  const store = await openStore();
  const { credential, key } = await mintFor(store, { name: 'ci', models: ['qwen-*', 'phi'] });
  await store.directory.changeTenantLimits('acme', { concurrency: { max: 3 } });
  await store.directory.changeKeyLimits(key.id, { 'token-budget': { max: 9 } });
  expect(await store.directory.key(key.id)).toMatchObject({ name: 'ci', tenant: 'acme' });
  const caller = await store.authenticate([credential]);
  expect(caller).toMatchObject({
    tenant: 'acme',
    keyId: key.id,
    limits: { tenant: { concurrency: { max: 3 } }, key: { 'token-budget': { max: 9 } } },
  });
  expect(['qwen-7b', 'phi', 'llama'].map(caller.allows)).toEqual([true, true, false]);
});

it('a key without a list of models may use all, and one with an empty list none', async () => {
  const store = await openStore();
  const open = await store.authenticate([(await mintFor(store)).credential]);
  const closed = await store.authenticate([(await mintFor(store, { models: [] })).credential]);
  expect([open.allows('qwen-7b'), closed.allows('qwen-7b')]).toEqual([true, false]);
});

it('the last weight of a tenant counts, even where its key is cached', async () => {
  const { here, there, credential } = await openWithCachedKey();
  expect((await there.authenticate([credential])).weight).toBe(1);
  await here.directory.upsertTenant('acme', { weight: 2.5 });
  await until(async () => (await there.authenticate([credential])).weight === 2.5);
  await here.directory.upsertTenant('acme', { name: 'Acme Ltd' });
  expect(await here.directory.tenant('acme')).toMatchObject({ name: 'Acme Ltd', weight: 2.5 });
});

it('no key in Redis holds the credential, in its name or in its value', async () => {
  const store = await openStore();
  const { credential } = await mintFor(store);
  const { redis } = store;
  for (const name of await redis.keys('*')) {
    const dump = await redis.dumpBuffer(name);
    expect(name).not.toContain(credential.slice(3));
    expect(dump.toString('latin1')).not.toContain(credential.slice(8));
  }
});

it('the first good credential of several wins', async () => {
  const store = await openStore();
  const { credential, key } = await mintFor(store);
  const others = ['junk', unheardOf, 'more junk', `${unheardOf}x`];
  expect((await store.authenticate([...others, credential])).keyId).toBe(key.id);
});

it('what does not have the form of a key is refused without asking Redis', async () => {
  const store = await openStore();
  store.redis.disconnect();
  await expect(store.authenticate(['junk'])).rejects.toMatchObject({
    kind: 'unauthenticated',
    message: 'the api key has not the form sk-… of a key of this service',
  });
  await expect(store.authenticate([])).rejects.toMatchObject({
    kind: 'unauthenticated',
    message: 'the request has no api key',
  });
});

it('another secret finds no key', async () => {
  const store = await openStore();
  const { credential } = await mintFor(store);
  const other = await openStore({ secret: 'another secret, as long' });
  await expect(other.authenticate([credential])).rejects.toMatchObject({
    kind: 'unauthenticated',
    message: 'the api key is not known',
  });
});

it('a key that is revoked on one process ends on another that has it cached', async () => {
  const { here, there, credential, key } = await openWithCachedKey();
  await here.directory.revoke(key.id);
  await until(() =>
    there.authenticate([credential]).then(
      () => false,
      () => true,
    ),
  );
  await expect(there.authenticate([credential])).rejects.toMatchObject({
    kind: 'unauthenticated',
    message: `the api key ${key.prefix}… is revoked`,
  });
  now += 1_000;
  expect((await here.directory.revoke(key.id)).revokedAt).toBe(now - 1_000);
});

it('a key that was removed is refused by a process that has it cached, too, and the others are not', async () => {
  const { here, there, credential, key } = await openWithCachedKey();
  const other = await here.directory.mint({ tenant: 'acme' });
  const revoked = await here.directory.mint({ tenant: 'acme' });
  await here.directory.revoke(revoked.key.id);
  expect(await here.directory.deleteKeys([key.id, revoked.key.id, 'key_1'])).toBe(2);
  await until(() => there.recall([credential]) === undefined);
  for (const gone of [credential, revoked.credential]) {
    await expect(there.authenticate([gone])).rejects.toMatchObject({
      kind: 'unauthenticated',
      message: 'the api key is not known',
    });
  }
  expect((await there.authenticate([other.credential])).keyId).toBe(other.key.id);
});

it('changed limits of a tenant and of a key reach a process that has the caller cached', async () => {
  const { here, there, credential, key } = await openWithCachedKey();
  await here.directory.changeTenantLimits('acme', { concurrency: { max: 1 } });
  await until(async () => 'concurrency' in (await there.authenticate([credential])).limits.tenant);
  await here.directory.changeKeyLimits(key.id, { concurrency: { max: 2 } });
  await until(async () => 'concurrency' in (await there.authenticate([credential])).limits.key);
  await here.directory.changeTenantLimits('acme', { concurrency: null });
  await until(async () => !('concurrency' in (await there.authenticate([credential])).limits.tenant));
});

it('a key that was refused is accepted as soon as it is minted', async () => {
  const letters = (size: number) => new Uint8Array(size).fill(10);
  const [here, there] = [await openStore({ randomBytes: letters }), await openStore()];
  const credential = `sk-${'A'.repeat(43)}`;
  await expect(there.authenticate([credential])).rejects.toMatchObject({ kind: 'unauthenticated' });
  await mintFor(here);
  await until(() => there.authenticate([credential]));
});

it('a key that was refused is looked for again after a shorter time than a good one', async () => {
  const { there, credential } = await openWithCachedKey({ unknownCacheMs: 1_000 });
  await expect(there.authenticate([unheardOf])).rejects.toMatchObject({ kind: 'unauthenticated' });
  elapsedMs += 1_000;
  there.redis.disconnect();
  await there.authenticate([credential]);
  await expect(there.authenticate([unheardOf])).rejects.toMatchObject({ kind: 'unavailable' });
});

it('a cached key is refused from the instant of its expiry', async () => {
  const store = await openStore();
  const { credential } = await mintFor(store, { expiresAt: now + 1000 });
  await store.authenticate([credential]);
  now += 1000;
  await expect(store.authenticate([credential])).rejects.toMatchObject({ message: 'the api key is expired' });
});

it('a revocation that was missed while the subscriber was cut is seen', async () => {
  const { here, there, credential, key } = await openWithCachedKey();
  await here.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await here.directory.revoke(key.id);
  await until(() =>
    there.authenticate([credential]).then(
      () => false,
      () => true,
    ),
  );
  await until(() => there.subscriber.status === 'ready');
  await expect(there.authenticate([credential])).rejects.toMatchObject({ kind: 'unauthenticated' });
});

it('while our Redis user may not subscribe, Redis is asked each time, and the cache works again afterwards', async () => {
  const { here, there, credential } = await openWithCachedKey();
  expect(there.recall([credential])).toBeDefined();
  const allow = (rule: string) => here.redis.call('ACL', 'SETUSER', 'default', rule);
  // Redis cuts the subscriber; 6.2 leaves him what he has.
  await allow('resetchannels');
  await here.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const refusals = async () => /NOPERM:count=(\d+)/.exec(await here.redis.info('errorstats'))?.[1];
  await until(async () => (await refusals()) !== undefined);
  await there.authenticate([credential]);
  expect(there.recall([credential])).toBeUndefined();
  await allow('allchannels');
  await until(async () => {
    await there.authenticate([credential]);
    return there.recall([credential]);
  });
});

it('while Redis is down a cached key is good until its time, and an unknown one is told to come back', async () => {
  const { there: store, credential, key } = await openWithCachedKey({ cacheMs: 5000 });
  await server.down({ keepData: true });
  try {
    await until(() => store.redis.status !== 'ready' && store.subscriber.status !== 'ready');
    expect((await store.authenticate([credential])).keyId).toBe(key.id);
    await expect(store.authenticate([unheardOf])).rejects.toMatchObject({
      kind: 'unavailable',
      options: { refusedBy: 'redis' },
    });
    expect((await store.authenticate([unheardOf, credential])).keyId).toBe(key.id);
    // The host's clock may be set meanwhile.
    now -= 3_600_000;
    elapsedMs += 5000;
    await expect(store.authenticate([credential])).rejects.toMatchObject({ kind: 'unavailable' });
  } finally {
    await server.up();
  }
  expect((await until(() => store.authenticate([credential]).catch(() => undefined))).keyId).toBe(key.id);
});

it('an unknown key is refused as unavailable while Redis does not answer, and no request hangs', async () => {
  const store = await openStore();
  server.suspend();
  try {
    await expect(store.authenticate([unheardOf])).rejects.toMatchObject({
      kind: 'unavailable',
      options: { retryAfterMs: 1000 },
    });
  } finally {
    server.resume();
  }
});

it('deleting a tenant ends its keys and leaves nothing of it', async () => {
  const { here, there, credential } = await openWithCachedKey();
  await here.directory.deleteTenant('acme');
  await until(() =>
    there.authenticate([credential]).then(
      () => false,
      () => true,
    ),
  );
  expect(await here.directory.listTenants()).toEqual([]);
  expect(await here.directory.listKeys()).toEqual([]);
  expect(await here.redis.keys('*')).toEqual(['sluice:{tenancy}:secret-mark']);
});

it('a cached key costs no question to Redis', async () => {
  const { there, credential } = await openWithCachedKey();
  await there.redis.config('RESETSTAT');
  await there.authenticate([credential]);
  expect(await there.redis.info('commandstats')).not.toMatch(/hgetall/);
});

it('a caller is recalled without asking while nothing speaks against it', async () => {
  const { here, there, credential, key } = await openWithCachedKey();
  expect(here.recall([credential])).toBeUndefined();
  expect(there.recall([credential])?.tenant).toBe('acme');
  expect(there.recall(['not a key', credential])?.tenant).toBe('acme');
  // A credential that was never looked up might be valid, and would come first.
  expect(there.recall([unheardOf, credential])).toBeUndefined();
  await expect(there.authenticate([unheardOf])).rejects.toMatchObject({ kind: 'unauthenticated' });
  expect(there.recall([unheardOf, credential])?.tenant).toBe('acme');
  await here.directory.revoke(key.id);
  await until(() => there.recall([credential]) === undefined);
});

it('a caller is not recalled after its expiry, nor while changes are not heard', async () => {
  const { here, there, credential } = await openWithCachedKey();
  there.subscriber.disconnect();
  await until(() => there.recall([credential]) === undefined);
  const { credential: dying } = await here.directory.mint({ tenant: 'acme', expiresAt: now + 1_000 });
  // Opened after the minting, so that it hears nothing of it.
  const store = await openStore();
  await store.authenticate([dying]);
  expect(store.recall([dying])).toBeDefined();
  now += 1_000;
  expect(store.recall([dying])).toBeUndefined();
});

it('a store that was closed hears nothing more on the connection that it shared, and trusts nothing it knew', async () => {
  const { there: store, credential } = await openWithCachedKey();
  expect(store.recall([credential])).toBeDefined();
  await store.close();
  expect(store.recall([credential])).toBeUndefined();
  expect(store.subscriber.eventNames()).not.toContain('message');
  // The other store is still subscribed.
  await until(async () => (await store.redis.pubsub('NUMSUB', 'sluice:{tenancy}:changes'))[1] === 1);
});

it('without a subscriber every authentication asks Redis', async () => {
  const { here, credential, key } = await openWithCachedKey();
  const alone = createKeyStore({ redis: here.redis, secret, now: () => now });
  await alone.start();
  await alone.authenticate([credential]);
  await here.directory.revoke(key.id);
  await expect(alone.authenticate([credential])).rejects.toMatchObject({ kind: 'unauthenticated' });
  await alone.close();
});

it('many requests with one new credential ask Redis once', async () => {
  const store = await openStore();
  const { credential } = await mintFor(store);
  await store.redis.config('RESETSTAT');
  await Promise.all(Array.from({ length: 50 }, () => store.authenticate([credential])));
  expect(await store.redis.info('commandstats')).toMatch(/cmdstat_hgetall:calls=2,/);
});

it('a key whose record is broken is a fault of ours, whatever other keys the call has', async () => {
  const store = await openStore();
  const broken = await mintFor(store, { models: ['phi'] });
  const [record = ''] = await store.redis.keys('*:key:*');
  await store.redis.hset(record, 'models', 'phi');
  const { credential } = await mintFor(store);
  await expect(store.authenticate([broken.credential, credential])).rejects.toMatchObject({
    kind: 'internal',
  });
});
