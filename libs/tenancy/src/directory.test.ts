import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Directory, type DirectoryOptions } from './directory.ts';

const secret = 'a secret of the tests';
const start = Date.UTC(2026, 0, 1);

let server: OwnTestRedis;
let connections: Redis[] = [];
let now: number;
let redis: Redis;
let directory: Directory;

beforeAll(async () => {
  server = await startOwnRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  now = start;
  redis = connect();
  directory = openDirectory();
  await redis.flushall();
});
afterEach(() => {
  for (const connection of connections) connection.disconnect();
  connections = [];
});

function connect(): Redis {
  const connection = new Redis(server.url);
  connections.push(connection);
  return connection;
}

function openDirectory(options: Partial<DirectoryOptions> = {}): Directory {
  return new Directory({ redis, secret, now: () => now, ...options });
}

async function mintForAcme() {
  await directory.upsertTenant('acme');
  return directory.mint({ tenant: 'acme' });
}

it.each([0.01, 1, 100])('a tenant can have the weight %d', async (weight) => {
  expect(await directory.upsertTenant('acme', { weight })).toMatchObject({ weight });
});

it.each([0, 0.001, 101, Number.NaN])('a tenant cannot have the weight %d', async (weight) => {
  await expect(directory.upsertTenant('acme', { weight })).rejects.toMatchObject({
    kind: 'invalid-request',
    message: 'the weight of a tenant is a number from 0.01 to 100',
  });
});

it.each(['a', '7', 'Acme-Ltd_2.eu', 'x'.repeat(64)])('tenant id %j is taken', async (id) => {
  expect((await directory.upsertTenant(id)).id).toBe(id);
});

it.each(['', 'a b', 'a:b', '{a}', '-a', 'é', 'x'.repeat(65)])('tenant id %j is refused', async (id) => {
  await expect(directory.upsertTenant(id)).rejects.toMatchObject({
    kind: 'invalid-request',
    message: expect.stringContaining(`tenant id ${JSON.stringify(id)} is not 1 to 64 letters`),
  });
});

it('a tenant that is written again keeps what was not given, and when it was made', async () => {
  await directory.upsertTenant('acme', { name: 'Acme Ltd', weight: 2 });
  await directory.changeTenantLimits('acme', { concurrency: { max: 3 } });
  now += 1_000;
  expect(await directory.upsertTenant('acme', { weight: 5 })).toEqual({
    id: 'acme',
    name: 'Acme Ltd',
    weight: 5,
    limits: { concurrency: { max: 3 } },
    createdAt: start,
  });
});

it('tenants are listed by id, with what is known of them', async () => {
  await directory.upsertTenant('zebra', { name: 'Zebra Ltd' });
  await directory.upsertTenant('acme', { weight: 2 });
  await directory.upsertTenant('middle');
  expect(await directory.listTenants()).toEqual([
    { id: 'acme', weight: 2, limits: {}, createdAt: now },
    { id: 'middle', limits: {}, createdAt: now },
    { id: 'zebra', name: 'Zebra Ltd', limits: {}, createdAt: now },
  ]);
});

it('a key is read as it was minted', async () => {
  await directory.upsertTenant('acme');
  const { credential, key } = await directory.mint({
    tenant: 'acme',
    name: 'ci',
    models: ['qwen-*', 'phi'],
    limits: { concurrency: { max: 1 } },
    expiresAt: now + 1_000,
  });
  expect(key).toEqual({
    id: expect.stringMatching(/^key_[0-9A-Za-z]{16}$/),
    tenant: 'acme',
    name: 'ci',
    models: ['qwen-*', 'phi'],
    limits: { concurrency: { max: 1 } },
    expiresAt: now + 1_000,
    prefix: credential.slice(0, 7),
    createdAt: now,
  });
  expect(await directory.key(key.id)).toEqual(key);
});

it('keys are listed from the oldest to the newest, of one tenant or of all', async () => {
  await directory.upsertTenant('acme');
  await directory.upsertTenant('other');
  const minted: string[] = [];
  // The last ones are the oldest, so that the order of writing is not the one asked for.
  for (const [tenant, age] of [
    ['acme', 1],
    ['other', 2],
    ['acme', 3],
    ['acme', 3],
  ] as const) {
    now = start - age;
    minted.push((await directory.mint({ tenant })).key.id);
  }
  const [newest = '', foreign = '', ...oldest] = minted;
  oldest.sort((left, right) => left.localeCompare(right));
  const listed = async (tenant?: string) => (await directory.listKeys(tenant)).map(({ id }) => id);
  expect(await listed()).toEqual([...oldest, foreign, newest]);
  expect(await listed('acme')).toEqual([...oldest, newest]);
  expect(await listed('nobody')).toEqual([]);
});

it('a record of which only a part is left is none', async () => {
  const { key } = await mintForAcme();
  const hash = (await redis.hget('sluice:{tenancy}:key-ids', key.id)) ?? '';
  await redis.hdel(`sluice:{tenancy}:key:${hash}`, 'createdAt');
  await redis.hdel('sluice:{tenancy}:tenant:acme', 'createdAt');
  await expect(directory.key(key.id)).rejects.toMatchObject({
    kind: 'not-found',
    message: `there is no key ${key.id}`,
  });
  await expect(directory.tenant('acme')).rejects.toMatchObject({ kind: 'not-found' });
  expect([await directory.listKeys(), await directory.listTenants()]).toEqual([[], []]);
});

it('a record that somebody else broke is told as such', async () => {
  await directory.upsertTenant('acme');
  await redis.hset('sluice:{tenancy}:tenant:acme', 'limit:concurrency', 'three');
  await expect(directory.tenant('acme')).rejects.toMatchObject({
    kind: 'internal',
    message: 'a stored tenancy record is not JSON',
  });
});

it('a tenant is listed and deleted however many keys it has had', async () => {
  const { key } = await mintForAcme();
  // Only their ids, because writing and reading whole records would take a minute.
  const others = `for i = 1, 150000 do redis.call('SADD', KEYS[1], 'key_' .. i) end`;
  await redis.eval(others, 1, 'sluice:{tenancy}:keys-of:acme');
  expect(await directory.listKeys('acme')).toEqual([key]);
  expect(await directory.deleteTenant('acme')).toHaveLength(150_001);
  expect(await directory.listTenants()).toEqual([]);
});

it('all keys are listed however many they are, without a command that reads all of them', async () => {
  const { key } = await mintForAcme();
  const strays = `for i = 1, 5000 do redis.call('HSET', KEYS[1], 'key_' .. i, 'hash_' .. i) end`;
  await redis.eval(strays, 1, 'sluice:{tenancy}:key-ids');
  await redis.config('RESETSTAT');
  expect(await directory.listKeys()).toEqual([key]);
  // One for each record.
  expect(await redis.info('commandstats')).toContain('cmdstat_hgetall:calls=5001,');
});

it('keys are deleted without a trace, however many they are', async () => {
  const { key } = await mintForAcme();
  const { key: kept } = await mintForAcme();
  const others = Array.from({ length: 2_500 }, (_, index) => `key_${index}`);
  expect(await directory.deleteKeys([...others, key.id])).toBe(1);
  expect(await directory.listKeys()).toEqual([kept]);
  expect(await redis.smembers('sluice:{tenancy}:keys-of:acme')).toEqual([kept.id]);
  expect(await redis.hkeys('sluice:{tenancy}:key-ids')).toEqual([kept.id]);
  expect(await redis.keys('sluice:{tenancy}:key:*')).toHaveLength(1);
});

it('what is written while its tenant is deleted is refused or gone with it', async () => {
  const other = openDirectory({ redis: connect() });
  for (let round = 0; round < 20; round++) {
    const { key } = await mintForAcme();
    const written = Promise.allSettled([
      other.mint({ tenant: 'acme' }),
      other.revoke(key.id),
      other.changeKeyLimits(key.id, { concurrency: { max: 1 } }),
      other.changeTenantLimits('acme', { concurrency: { max: 1 } }),
    ]);
    await Promise.all([directory.deleteTenant('acme'), written]);
    expect(await redis.keys('*')).toEqual(['sluice:{tenancy}:secret-mark']);
  }
});

it('a change that cannot be told to the ingresses is not written', async () => {
  await mintForAcme();
  const before = await redis.keys('*');
  await redis.call('ACL', 'SETUSER', 'mute', 'on', '>word', '~*', 'resetchannels', '+@all');
  const connection = connect();
  await connection.auth('mute', 'word');
  const mute = openDirectory({ redis: connection });
  await expect(mute.mint({ tenant: 'acme' })).rejects.toThrow('a tenancy record was not written');
  await expect(mute.deleteTenant('acme')).rejects.toThrow('a tenancy record was not written');
  expect((await redis.keys('*')).sort()).toEqual(before.sort());
});

it('a change whose reply is lost is not said to be unwritten', async () => {
  await directory.upsertTenant('acme');
  redis.disconnect();
  await expect(directory.mint({ tenant: 'acme' })).rejects.toThrow(/^Connection is closed/);
});

it('simultaneous changes of one record do not undo each other', async () => {
  const { key } = await mintForAcme();
  await Promise.all([
    directory.revoke(key.id),
    directory.changeKeyLimits(key.id, { concurrency: { max: 1 } }),
    directory.changeKeyLimits(key.id, { 'token-budget': { max: 2 } }),
  ]);
  const changed = await directory.key(key.id);
  expect(changed.revokedAt).toBe(now);
  expect(changed.limits).toEqual({ concurrency: { max: 1 }, 'token-budget': { max: 2 } });
});

it('a limit of a key that is removed leaves the others', async () => {
  const { key } = await mintForAcme();
  const limits = { concurrency: { max: 1 }, 'token-budget': { max: 2 } };
  await directory.changeKeyLimits(key.id, limits);
  expect((await directory.changeKeyLimits(key.id, { concurrency: null })).limits).toEqual({
    'token-budget': { max: 2 },
  });
});

it('what does not exist is named', async () => {
  const message = 'there is no tenant nobody';
  const limits = { concurrency: { max: 1 } };
  await expect(directory.mint({ tenant: 'nobody' })).rejects.toMatchObject({ kind: 'not-found', message });
  await expect(directory.tenant('nobody')).rejects.toMatchObject({ kind: 'not-found', message });
  await expect(directory.deleteTenant('nobody')).rejects.toMatchObject({ kind: 'not-found', message });
  await expect(directory.changeTenantLimits('nobody', limits)).rejects.toMatchObject({ message });
  const noKey = { kind: 'not-found', message: 'there is no key key_1' };
  await expect(directory.key('key_1')).rejects.toMatchObject(noKey);
  await expect(directory.revoke('key_1')).rejects.toMatchObject(noKey);
  await expect(directory.changeKeyLimits('key_1', limits)).rejects.toMatchObject(noKey);
});

it('tells whose secret the newest key was minted with', async () => {
  const other = openDirectory({ secret: 'another secret, as long' });
  const known = () => Promise.all([directory.keysKnown(), other.keysKnown(), other.knowsSecret()]);
  expect(await known()).toEqual(['none', 'none', true]);
  await mintForAcme();
  expect(await known()).toEqual(['ours', 'foreign', false]);
  await other.mint({ tenant: 'acme' });
  expect(await known()).toEqual(['foreign', 'ours', true]);
});

it('a key secret has at least 16 characters', () => {
  const open = (length: number) => new Directory({ redis, secret: 'x'.repeat(length) });
  expect(() => open(15)).toThrow('the key secret is shorter than 16 characters');
  expect(() => open(16)).not.toThrow();
});

it('without the key secret all is done but minting', async () => {
  const { key } = await mintForAcme();
  const without = new Directory({ redis });
  expect((await without.revoke(key.id)).revokedAt).toBeDefined();
  await expect(without.mint({ tenant: 'acme' })).rejects.toMatchObject({
    kind: 'invalid-request',
    message: 'minting keys takes the key secret',
  });
});
