import { once } from 'node:events';
import { ask, startOwnRedis } from '@sluice/testing';
import { Cluster, Redis } from 'ioredis';
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

const optionsOf = (url: string) => {
  const client = openOne(url);
  if (!(client instanceof Redis)) throw new TypeError('a cluster');
  return client.options;
};
const startupNodesOf = (url: string) => {
  const client = openOne(url);
  if (!(client instanceof Cluster)) throw new TypeError('no cluster');
  // ioredis shows the nodes that it was given nowhere else.
  return Reflect.get(client, 'startupNodes');
};

describe('the URL of a Redis', () => {
  it('can name one server', () => {
    expect(optionsOf('redis://me:p%40ss@127.0.0.1:1/3')).toMatchObject({
      host: '127.0.0.1',
      port: 1,
      username: 'me',
      password: 'p@ss',
      db: 3,
      connectionName: 'test',
    });
  });

  it('can ask for TLS', () => {
    expect(optionsOf('rediss://127.0.0.1:1').tls).toBeTruthy();
  });

  it('can name sentinels, a group and a database', () => {
    expect(optionsOf('redis+sentinel://me:a%3Ab:c@10.255.0.1:1,10.255.0.2/main/2')).toMatchObject({
      sentinels: [
        { host: '10.255.0.1', port: 1 },
        { host: '10.255.0.2', port: 26_379 },
      ],
      name: 'main',
      username: 'me',
      password: 'a:b:c',
      db: 2,
    });
  });

  it('can leave out what has a default', () => {
    expect(optionsOf('redis+sentinel://:secret@localhost')).toMatchObject({
      sentinels: [{ host: 'localhost', port: 26_379 }],
      name: 'mymaster',
      password: 'secret',
    });
  });

  it('can name nodes of a cluster, in IPv6, too', () => {
    expect(startupNodesOf('redis+cluster://127.0.0.1:1,[::1]:2,localhost')).toEqual([
      { host: '127.0.0.1', port: 1 },
      { host: '::1', port: 2 },
      { host: 'localhost', port: 6_379 },
    ]);
  });

  it.each([
    'http://127.0.0.1',
    'redis',
    '',
    'redis+sentinel://',
    'redis+cluster://a,,b',
    'redis+cluster://a:b:c',
  ])('of another kind is refused: %s', (url) => {
    expect(() => openOne(url)).toThrow(/Redis URL/);
  });

  it('is not repeated in the refusal: it may hold a password', () => {
    expect(() => openOne('redis+cluster://me:hush@a:b:c')).toThrow(/^(?!.*hush)/);
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

  it('that is closed while nobody looks at its subscription leaves no rejection to the process', async () => {
    const client = openSubscriber();
    // As ioredis does it when it is connected again.
    void client.subscribe('channel');
    client.disconnect();
    await once(client, 'end');
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });

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
  it('is waited for until the limit, and errors are told once per outage', async () => {
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
