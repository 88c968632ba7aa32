import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { ask, startOwnRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connected, openRedis, type RedisClient } from './connection.ts';

const open: RedisClient[] = [];
afterEach(() => {
  for (const client of open.splice(0)) client.disconnect();
});

function openOne(url: string): RedisClient {
  const client = openRedis(url, { profile: 'command', name: 'test', onError: () => undefined });
  open.push(client);
  return client;
}

describe('a connection', () => {
  const optionsOf = (url: string) => {
    const client = openOne(url);
    if (!(client instanceof Redis)) throw new TypeError('a cluster');
    return client.options;
  };

  it('has the credentials, the database and the name that it was given', () => {
    expect(optionsOf('redis://me:p%40ss@127.0.0.1:1/3')).toMatchObject({
      host: '127.0.0.1',
      port: 1,
      username: 'me',
      password: 'p@ss',
      db: 3,
      connectionName: 'test',
    });
    expect(optionsOf('unix://me:p%40ss@/nowhere/redis.sock?db=3')).toMatchObject({
      path: '/nowhere/redis.sock',
      username: 'me',
      password: 'p@ss',
      db: 3,
      connectionName: 'test',
    });
  });

  it('is encrypted where the URL says so', () => {
    expect(optionsOf('rediss://127.0.0.1:1').tls).toBeTruthy();
    expect(optionsOf('rediss://[::1]:1').tls).toBeTruthy();
    expect(optionsOf('redis://127.0.0.1:1').tls).toBeUndefined();
  });

  it('tells a server by TLS the name that the URL has for it', async () => {
    const named = Promise.withResolvers<string>();
    const server = createServer({ SNICallback: (name) => named.resolve(name) });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    openOne(`rediss://localhost:${port}`);
    expect(await named.promise).toBe('localhost');
    server.close();
  });
});

describe('a subscriber', () => {
  const unhandled = vi.fn();
  beforeEach(() => {
    unhandled.mockClear();
    process.on('unhandledRejection', unhandled);
  });
  afterEach(() => {
    process.off('unhandledRejection', unhandled);
  });
  const openSubscriber = (url = 'redis://127.0.0.1:1') => {
    const client = openRedis(url, { profile: 'subscriber', name: 'test', onError: () => undefined });
    open.push(client);
    return client;
  };

  it('rejects what its owner waits for all the same', async () => {
    const client = openSubscriber();
    const subscribed = client.subscribe('channel');
    client.disconnect();
    await expect(subscribed).rejects.toThrow('Connection is closed');
  });

  it('tells a refusal to its owner and to nobody else', async () => {
    await using server = await startOwnRedis();
    await ask(server.port, 'ACL', 'SETUSER', 'default', 'resetchannels');
    await expect(openSubscriber(server.url).subscribe('channel')).rejects.toThrow('NOPERM');
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('a connection that is not made', () => {
  it('is waited for until the limit, and errors are reported once per outage', async () => {
    const errors: Error[] = [];
    const client = openRedis('redis://127.0.0.1:1', {
      profile: 'worker',
      name: 'test',
      onError: (error) => errors.push(error),
    });
    open.push(client);
    const limit = new AbortController();
    const waiting = connected(client, limit.signal);
    await new Promise((resolve) => client.once('reconnecting', resolve));
    await new Promise((resolve) => client.once('reconnecting', resolve));
    limit.abort();
    await expect(waiting).rejects.toMatchObject({ kind: 'unavailable' });
    expect(errors).toHaveLength(1);
  });

  it('is not waited for when the limit is over already', async () => {
    await expect(connected(openOne('redis://127.0.0.1:1'), AbortSignal.abort())).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});

it('a connection tells when an outage begins and when it is over', async () => {
  await using server = await startOwnRedis();
  const told: string[] = [];
  const client = openRedis(server.url, {
    profile: 'worker',
    name: 'test',
    onError: () => told.push('gone'),
    onRecovery: () => told.push('back'),
  });
  open.push(client);
  await once(client, 'ready');
  expect(told).toEqual([]);
  await server.down();
  await expect.poll(() => told).toEqual(['gone']);
  await server.up();
  await expect.poll(() => told).toEqual(['gone', 'back']);
});

it('a connection tells that Redis has ended it in good order, and its own end is none', async () => {
  await using server = await startOwnRedis();
  const told: string[] = [];
  const client = openRedis(server.url, {
    profile: 'worker',
    name: 'test',
    onError: (error) => told.push(error.message),
    onRecovery: () => told.push('back'),
  });
  open.push(client);
  await once(client, 'ready');
  await ask(server.port, 'CLIENT', 'KILL', 'TYPE', 'normal');
  await expect.poll(() => told).toEqual(['the connection to redis was closed', 'back']);
  client.disconnect();
  await once(client, 'end');
  expect(told).toHaveLength(2);
});
