import { ask, type OwnTestRedis, startChatServer, startOwnRedis, until } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Links, openLinks, reached } from './links.ts';
import { openRedis } from './redis/connection.ts';
import { refusalOf } from './redis/test-refusal.ts';

let server: OwnTestRedis;
beforeEach(async () => {
  server = await startOwnRedis();
});
afterEach(() => server.stop());

const open = (url: string, profile: 'command' | 'worker' = 'command') =>
  openLinks(url, {
    profile,
    name: 'process',
    onConnectionError: () => undefined,
    onBadMessage: () => undefined,
  });

/** Links, and the round trips that they report. */
async function openMeasured(profile: 'command' | 'worker') {
  const told: number[] = [];
  const links = await openLinks(server.url, {
    profile,
    name: 'process',
    onConnectionError: () => undefined,
    onBadMessage: () => undefined,
    onRoundTrip: (durationMs) => told.push(durationMs),
  });
  return { links, told };
}

describe('links to Redis', () => {
  it('carry commands and messages', async () => {
    const links = await open(server.url);
    const heard = Promise.withResolvers<string>();
    await links.bus.subscribe('channel', heard.resolve);
    await links.bus.publish('channel', 'hello');
    expect(await heard.promise).toBe('hello');
    expect(links.isUp()).toBe(true);
    links.close();
  });

  it('hear nothing from another database, and everything from their own, however its URL is written', async () => {
    const [first, third, same] = await Promise.all([
      open(server.url),
      open(`${server.url}/3`),
      open(`${server.url}?db=3`, 'worker'),
    ]);
    const heard: string[] = [];
    await first.bus.subscribe('channel', (text) => heard.push(`first ${text}`));
    await third.bus.subscribe('channel', (text) => heard.push(`third ${text}`));
    expect(await first.bus.publish('channel', 'to the first')).toBe(1);
    expect(await same.bus.publish('channel', 'to the third')).toBe(1);
    await until(() => heard.length === 2);
    expect(heard.toSorted()).toEqual(['first to the first', 'third to the third']);
    for (const links of [first, third, same]) links.close();
  });

  it('report how long Redis takes to answer', async () => {
    const { links, told } = await openMeasured('worker');
    await until(() => told.length > 0);
    expect(Math.min(...told)).toBeGreaterThan(0);
    // The pause is longer than the interval of the questions, so at least one has to wait.
    await ask(server.port, 'CLIENT', 'PAUSE', '1500', 'ALL');
    await until(() => told.some((durationMs) => durationMs > 400));
    links.close();
  });

  it.each(['command', 'worker'] as const)(
    'report that Redis did not answer as long as a connection waits for it, once for each question: %s',
    async (profile) => {
      const { links, told } = await openMeasured(profile);
      const late = () => told.filter((durationMs) => durationMs > 400);
      await until(() => told.length > 0);
      server.suspend();
      await until(() => late().length > 0);
      await until(() => !links.isUp());
      const before = late();
      server.resume();
      const heard = told.length;
      await until(() => told.length > heard && Number(told.at(-1)) < 400);
      expect(late()).toEqual(before);
      links.close();
    },
  );

  it('are closed again if we cannot work with this Redis', async () => {
    await ask(server.port, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(open(server.url)).rejects.toThrow(/maxmemory-policy allkeys-lru/);
    await until(async () => !(await ask(server.port, 'CLIENT', 'LIST')).includes('name=process'), {
      what: 'both connections being closed',
    });
  });
});

describe('links to a Redis that refuses writes when they are opened', () => {
  beforeEach(() => ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '1'));

  it('stand as soon as it takes them', async () => {
    let isOpen = false;
    const opened = open(server.url).finally(() => {
      isOpen = true;
    });
    await until(async () => Number(/NOREPLICAS:count=(\d+)/.exec(await errorsOf(server.port))?.[1]) > 1);
    expect(isOpen).toBe(false);
    await ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
    (await opened).close();
  });
});

describe('what a starting process does at a Redis that has fallen silent', () => {
  let links: Links;
  beforeEach(async () => {
    links = await open(server.url);
    server.suspend();
  });
  afterEach(() => {
    server.resume();
    links.close();
  });

  it('is done when Redis is back', async () => {
    const outcomes: string[] = [];
    const done = links.patiently(() =>
      links.commands.get('key').catch((error: Error) => {
        outcomes.push(error.message);
        throw error;
      }),
    );
    await until(() => outcomes.length > 1);
    server.resume();
    expect(await done).toBe(null);
    expect(outcomes[0]).toBe('redis said nothing for 800 ms');
  });
});

describe('the first subscription at a Redis that refuses it', () => {
  let links: Links;
  beforeEach(async () => {
    links = await open(server.url);
    await ask(server.port, 'ACL', 'SETUSER', 'default', 'resetchannels');
  });
  afterEach(() => links.close());

  it('stands as soon as Redis takes it', async () => {
    const heard = Promise.withResolvers<string>();
    const subscribed = links.bus.subscribe('channel', heard.resolve);
    await until(async () => Number(/NOPERM:count=(\d+)/.exec(await errorsOf(server.port))?.[1]) > 1);
    await ask(server.port, 'ACL', 'SETUSER', 'default', 'allchannels');
    await subscribed;
    await links.bus.publish('channel', 'hello');
    expect(await heard.promise).toBe('hello');
  });
});

describe('links to a Redis that answers and refuses something', () => {
  const told: string[] = [];
  let links: Links;
  beforeEach(async () => {
    told.length = 0;
    links = await openLinks(server.url, {
      profile: 'worker',
      name: 'process',
      onConnectionError: (error) => told.push(error.message),
      onConnectionRecovery: () => told.push('back'),
      onBadMessage: () => undefined,
    });
  });
  afterEach(() => links.close());

  it('are down while it refuses to write, and report the outage and its end, each once', async () => {
    await ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
    await until(() => !links.isUp());
    await until(async () => Number(/NOREPLICAS:count=(\d+)/.exec(await errorsOf(server.port))?.[1]) > 1);
    await ask(server.port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
    await until(() => links.isUp());
    expect(told).toEqual([expect.stringContaining('NOREPLICAS'), 'back']);
  });

  it('do not listen while it makes writers wait and so carries no messages, although it answers pings', async () => {
    await ask(server.port, 'CLIENT', 'PAUSE', '60000', 'WRITE');
    await until(() => !links.isListening());
    expect(links.bus.isUp()).toBe(true);
    await ask(server.port, 'CLIENT', 'UNPAUSE');
    await until(() => links.isListening());
    expect(told).toEqual([expect.stringContaining('3000'), 'back']);
  });

  it('report that nothing they post is taken, and its end, each once', async () => {
    await ask(server.port, 'CLIENT', 'PAUSE', '60000', 'WRITE');
    // As often as a worker says that it lives.
    const posting = setInterval(() => links.bus.publish('channel', 'hello').catch(() => undefined), 500);
    await until(() => told.length === 2);
    // Nothing else is told while the connections are tried again.
    const opened = async () =>
      Number(/total_connections_received:(\d+)/.exec(await ask(server.port, 'INFO', 'stats'))?.[1]);
    // Each question has a connection of its own.
    let asked = 0;
    const before = await opened();
    await until(async () => (await opened()) - before > 4 + ++asked);
    expect(told).toEqual([expect.stringContaining('3000'), expect.stringContaining('3000')]);
    await ask(server.port, 'CLIENT', 'UNPAUSE');
    await until(() => told.length === 4);
    expect(told.slice(2)).toEqual(['back', 'back']);
    clearInterval(posting);
  });

  it('survive the loss of the right to subscribe, and hear again when they have it back', async () => {
    const heard: string[] = [];
    await links.bus.subscribe('channel', (text) => heard.push(text));
    // When a right is taken away, Redis closes the subscriptions that need it; Redis 6.2 does not, so they are cut.
    await ask(server.port, 'ACL', 'SETUSER', 'default', 'resetchannels');
    await ask(server.port, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until(async () => Number(/NOPERM:count=(\d+)/.exec(await errorsOf(server.port))?.[1]) > 1);
    expect(links.bus.isUp()).toBe(false);
    await ask(server.port, 'ACL', 'SETUSER', 'default', 'allchannels');
    await until(() => links.bus.isUp());
    await links.bus.publish('channel', 'hello');
    await until(() => heard.length === 1);
    expect(told).toEqual([expect.stringContaining('NOPERM'), 'back']);
  });
});

const errorsOf = (port: number) => ask(port, 'INFO', 'errorstats');

/** Leaves the server as a managed failover leaves an old master: connections stay open, and it refuses to write. */
const demote = () => ask(server.port, 'REPLICAOF', '127.0.0.1', '1');
const promote = () => ask(server.port, 'REPLICAOF', 'NO', 'ONE');

describe('links to a Redis that becomes a replica', () => {
  it.each(['command', 'worker'] as const)(
    'of the profile %s are down even if nobody uses them, and up again once it is a master',
    async (profile) => {
      const links = await open(server.url, profile);
      const heard: string[] = [];
      await links.bus.subscribe('channel', (text) => heard.push(text));
      let times = 0;
      links.bus.onResubscribed(() => {
        times += 1;
      });
      await demote();
      await until(() => !links.isUp() && !links.bus.isUp(), { what: 'both connections to be down' });
      await promote();
      await until(() => links.isUp() && times === 1, { what: 'both connections to be up' });
      await links.commands.set('key', 'value');
      expect(await links.bus.publish('channel', 'hello')).toBe(1);
      links.close();
    },
  );

  it('of a worker leave it with what they post, too', async () => {
    const links = await open(server.url, 'worker');
    const messageLine = async () =>
      /id=(\d+) addr=\S+ laddr=\S+ fd=\d+ name=process-messages /.exec(
        await ask(server.port, 'CLIENT', 'LIST'),
      )?.[1];
    const before = await messageLine();
    expect(before).toBeDefined();
    await demote();
    await until(() => !links.isUp());
    await promote();
    await until(() => links.isUp());
    expect(await messageLine()).not.toBe(before);
    links.close();
  });

  it('are closed by the first command that it refuses, which fails at once for a caller who waits', async () => {
    const links = await open(server.url);
    await demote();
    await expect(links.commands.set('key', 'value')).rejects.toThrow('READONLY');
    await until(() => !links.isUp() && !links.bus.isUp());
    links.close();
  });

  it('of a worker keep what it writes until there is a master', async () => {
    const links = await open(server.url, 'worker');
    await demote();
    const written = links.commands.eval("return redis.call('INCR', KEYS[1])", 1, 'count');
    await until(() => !links.isUp());
    await promote();
    expect(await written).toBe(1);
    links.close();
  });
});

describe('the refusal for a Redis that cannot be reached says', () => {
  it.each([
    [
      'that it wants a password',
      'redis://127.0.0.1',
      /is not reachable: NOAUTH, it wants a password, as in redis:\/\/:PASSWORD@HOST$/,
    ],
    [
      'that it wants another password',
      'redis://:wrong@127.0.0.1',
      /is not reachable: WRONGPASS, it refuses the user or the password$/,
    ],
    ['that it is no cluster', 'redis+cluster://:hush@127.0.0.1', /is not reachable: ERR .*cluster support/],
  ])('%s, with its address and without the password', async (_why, url, reason) => {
    await ask(server.port, 'CONFIG', 'SET', 'requirepass', 'hush');
    const refusal = await refusalOf(`${url}:${server.port}`);
    expect(refusal).toMatch(reason);
    expect(refusal).toContain(`redis at 127.0.0.1:${server.port} is not`);
    expect(refusal).not.toMatch(/hush|wrong/);
  });

  it.each(['worker', 'command'] as const)(
    'that it has no such database, and no other one is used: %s',
    async (profile) => {
      const limit = new AbortController();
      const url = `${server.url}/99`;
      const client = openRedis(url, { profile, name: 'process', onError: () => undefined });
      let wasReady = false;
      client.once('ready', () => {
        wasReady = true;
      });
      const secondTry = new Promise<void>((resolve) => {
        client.once('reconnecting', () => client.once('reconnecting', () => resolve()));
      });
      const waiting = reached(url, [client], limit.signal);
      await Promise.race([secondTry, waiting]);
      limit.abort();
      await expect(waiting).rejects.toThrow(
        `redis at 127.0.0.1:${server.port}/99 is not reachable: it has no such database`,
      );
      expect(wasReady).toBe(false);
      client.disconnect();
    },
  );

  it('that the server is no Redis', async () => {
    await using web = await startChatServer();
    const port = new URL(web.baseUrl).port;
    expect(await refusalOf(`redis://127.0.0.1:${port}`)).toMatch(
      /is not reachable: what answers there is no Redis$/,
    );
  });

  it('that the server speaks no TLS', async () => {
    await using web = await startChatServer();
    const port = new URL(web.baseUrl).port;
    expect(await refusalOf(`rediss://127.0.0.1:${port}`)).toMatch(
      /is not reachable: what answers there speaks no TLS$/,
    );
  });

  it.each(['rediss', 'rediss+sentinel'])(
    'that a Redis which is silent may speak no TLS: %s',
    async (scheme) => {
      const url = `${scheme}://127.0.0.1:${server.port}`;
      const client = openRedis(url, { profile: 'worker', name: 'process', onError: () => undefined });
      await expect(reached(url, [client], AbortSignal.timeout(200))).rejects.toThrow(
        `redis at 127.0.0.1:${server.port} is not reachable: no answer, as where Redis speaks no TLS`,
      );
      client.disconnect();
    },
  );

  it('that the silent nodes of a cluster may speak no TLS', async () => {
    expect(await refusalOf(`rediss+cluster://127.0.0.1:${server.port}`)).toMatch(
      /is not reachable: timeout, as where Redis speaks no TLS$/,
    );
  });

  it('that nothing listens there', async () => {
    await server.down();
    expect(await refusalOf(server.url)).toMatch(/is not reachable: connect ECONNREFUSED/);
  });

  it.each([
    ['redis+sentinel', /is not reachable: no sentinel is reachable: connect ECONNREFUSED/],
    ['redis+cluster', /is not reachable: connect ECONNREFUSED/],
  ])('that no server of a group listens: %s', async (scheme, reason) => {
    await server.down();
    expect(await refusalOf(`${scheme}://127.0.0.1:${server.port}`)).toMatch(reason);
  });

  it('that it is a replica', async () => {
    await demote();
    expect(await refusalOf(server.url)).toMatch(/is not reachable: it is a replica/);
  });

  it('that it does not answer', async () => {
    server.suspend();
    const client = openRedis(server.url, { profile: 'worker', name: 'process', onError: () => undefined });
    const isConnected = new Promise((resolve) => client.once('connect', resolve));
    const limit = new AbortController();
    const waiting = reached(server.url, [client], limit.signal);
    await isConnected;
    limit.abort();
    await expect(waiting).rejects.toThrow(`redis at 127.0.0.1:${server.port} is not reachable: no answer`);
    client.disconnect();
  });
});
