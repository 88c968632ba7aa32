import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { findFreePort } from './free-port.ts';
import { openRedis } from './open.ts';
import { checkRedis, printableAddress } from './policy.ts';
import { startRedisServer } from './server.ts';

const searchPath = process.env.PATH ?? '';

describe('openRedis', () => {
  it('uses the Redis that was given and leaves it running', async () => {
    const server = await startRedisServer();
    const opened = await openRedis({ environment: { REDIS_URL: server.url, PATH: searchPath } });
    expect(opened).toMatchObject({ origin: 'given', url: server.url });
    await opened.close();
    await expect(checkRedis(server.url)).resolves.toBeUndefined();
    await server.stop();
  });

  it('prefers the address in the options to the one in the environment', async () => {
    const server = await startRedisServer();
    const environment = { REDIS_URL: 'redis://127.0.0.1:1', PATH: searchPath };
    const opened = await openRedis({ url: server.url, environment });
    expect(opened.url).toBe(server.url);
    await server.stop();
  });

  it('starts one where none is given and ends it at close', async () => {
    const said: string[] = [];
    const opened = await openRedis({ environment: { PATH: searchPath }, say: (line) => said.push(line) });
    expect(opened.origin).toBe('started');
    expect(said).toEqual([`started Redis on port ${opened.server?.port}`]);
    await opened.close();
    await expect(checkRedis(opened.url)).rejects.toThrow(/does not answer/);
  });

  it('starts its own where sharing is not wanted', async () => {
    const environment = { REDIS_URL: 'redis://127.0.0.1:1', PATH: searchPath };
    const opened = await openRedis({ own: true, environment });
    expect(opened.origin).toBe('started');
    await opened.close();
  });

  it('says in one sentence that a given Redis does not answer, without its password', async () => {
    const url = `redis://user:secret@127.0.0.1:${await findFreePort()}`;
    const opening = openRedis({ url });
    await expect(opening).rejects.toThrow(/^the Redis at redis:\/\/127\.0\.0\.1:\d+ does not answer: /);
    await expect(opening).rejects.not.toThrow(/secret/);
  });
});

describe('checkRedis', () => {
  it('says that a password is asked for, or is the wrong one', async () => {
    const server = await startRedisServer();
    const admin = new Redis(server.url);
    await admin.config('SET', 'requirepass', 'right');
    admin.disconnect();
    await expect(checkRedis(server.url)).rejects.toThrow(/asks for a password; .* redis:\/\/:PASSWORD@HOST$/);
    const wrong = server.url.replace('//', '//:wrong@');
    await expect(checkRedis(wrong)).rejects.toThrow(/refuses the user or the password of the address$/);
    await expect(checkRedis(server.url.replace('//', '//:right@'))).resolves.toBeUndefined();
    await server.stop();
  });

  it('refuses a Redis that evicts, and says how to change it', async () => {
    const server = await startRedisServer();
    const client = new Redis(server.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    client.disconnect();
    await expect(checkRedis(server.url)).rejects.toThrow(/allkeys-lru.*redis-cli config set/);
    await server.stop();
  });
});

describe('printableAddress', () => {
  it('leaves out user and password', () => {
    expect(printableAddress('rediss://me:mine@host:1/3')).toBe('rediss://host:1/3');
    expect(printableAddress('not an address')).toBe('an address that is not a URL');
  });
});
