import { Redis } from 'ioredis';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startOwnRedis, startRedis } from './redis.ts';
import { until } from './until.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('startRedis', () => {
  it('gives an empty server that answers and never evicts', async () => {
    vi.stubEnv('REDIS_URL', '');
    await using redis = await startRedis();
    const client = new Redis(redis.url);
    expect(await client.dbsize()).toBe(0);
    expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    client.disconnect();
  });

  it('gives two callers of one REDIS_URL two databases and two prefixes', async () => {
    await using shared = await startOwnRedis();
    vi.stubEnv('REDIS_URL', shared.url);
    await using first = await startRedis();
    await using second = await startRedis();
    expect(first.url).not.toBe(second.url);
    expect(first.prefix).not.toBe(second.prefix);
    const [one, two] = [new Redis(first.url), new Redis(second.url)];
    await one.set('key', 'value');
    expect(await two.exists('key')).toBe(0);
    one.disconnect();
    two.disconnect();
  });

  it('never takes a database of a shared server that holds somebody’s data', async () => {
    await using shared = await startOwnRedis();
    const client = new Redis(shared.url);
    await client.select(1);
    await client.set('precious', 'data');
    vi.stubEnv('REDIS_URL', shared.url);
    const redis = await startRedis();
    expect(new URL(redis.url).pathname).toBe('/2');
    await redis.stop();
    expect(await client.get('precious')).toBe('data');
    client.disconnect();
  });

  it('says that nobody answers at REDIS_URL', async () => {
    const gone = await startOwnRedis();
    await gone.stop();
    vi.stubEnv('REDIS_URL', gone.url);
    await expect(startRedis()).rejects.toThrow('the Redis at REDIS_URL does not answer');
  });

  it('empties its database of a shared server when it stops', async () => {
    await using shared = await startOwnRedis();
    vi.stubEnv('REDIS_URL', shared.url);
    const redis = await startRedis();
    const client = new Redis(redis.url);
    await client.set('key', 'value');
    await redis.stop();
    expect(await client.dbsize()).toBe(0);
    client.disconnect();
  });
});

describe('startOwnRedis', () => {
  it('keeps its data over a restart when asked to', async () => {
    await using redis = await startOwnRedis();
    expect(await restartWith(redis, true)).toBe('value');
  });

  it('comes back empty otherwise', async () => {
    await using redis = await startOwnRedis();
    await restartWith(redis, true);
    expect(await restartWith(redis, false)).toBeNull();
  });

  it('leaves no server behind', async () => {
    const redis = await startOwnRedis();
    const { pid } = redis;
    await redis.stop();
    await until(() => !isAlive(pid), { what: 'the server to be gone' });
  });
});

async function restartWith(redis: Awaited<ReturnType<typeof startOwnRedis>>, keepData: boolean) {
  const before = new Redis(redis.url);
  await before.set('key', 'value');
  before.disconnect();
  await redis.restart({ keepData });
  const after = new Redis(redis.url);
  const value = await after.get('key');
  after.disconnect();
  return value;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
