import { describe, expect, it } from 'vitest';
import { parseRedisAddress, printableAddress } from './redis-address.ts';

describe('the URL of a Redis', () => {
  it.each(['redis://127.0.0.1:1/3', 'rediss://me:p%40ss@[::1]', 'redis://h/?family=6&db=2'])(
    'can name one server: %s',
    (url) => {
      expect(parseRedisAddress(url)).toEqual({ kind: 'server', url });
    },
  );

  it('can name a socket of this machine', () => {
    expect(parseRedisAddress('unix:///run/redis.sock')).toEqual({
      kind: 'socket',
      path: '/run/redis.sock',
      db: 0,
      credentials: {},
    });
    expect(parseRedisAddress('unix://me:p%40ss@/run/our%20redis%3F.sock?db=2')).toEqual({
      kind: 'socket',
      path: '/run/our redis?.sock',
      db: 2,
      credentials: { username: 'me', password: 'p@ss' },
    });
    expect(parseRedisAddress('unix:///run/redis@main/redis.sock')).toMatchObject({
      path: '/run/redis@main/redis.sock',
      credentials: {},
    });
  });

  it('can name sentinels, a group and a database', () => {
    expect(parseRedisAddress('redis+sentinel://me:a%3Ab:c@10.255.0.1:1,10.255.0.2/main/2')).toEqual({
      kind: 'sentinel',
      isEncrypted: false,
      nodes: [
        { host: '10.255.0.1', port: 1 },
        { host: '10.255.0.2', port: 26_379 },
      ],
      group: 'main',
      db: 2,
      credentials: { username: 'me', password: 'a:b:c' },
      sentinelCredentials: {},
    });
  });

  it('can hold the credentials for the sentinels themselves', () => {
    const url = 'redis+sentinel://me:mine@a/main?sentinelUsername=ops&sentinelPassword=p%26s=+@x';
    expect(parseRedisAddress(url)).toMatchObject({
      nodes: [{ host: 'a' }],
      group: 'main',
      credentials: { username: 'me', password: 'mine' },
      sentinelCredentials: { username: 'ops', password: 'p&s=+@x' },
    });
    expect(printableAddress(url)).toBe('a/main');
  });

  it('can leave out what has a default', () => {
    expect(parseRedisAddress('redis+sentinel://:secret@localhost')).toEqual({
      kind: 'sentinel',
      isEncrypted: false,
      nodes: [{ host: 'localhost', port: 26_379 }],
      group: 'mymaster',
      db: 0,
      credentials: { password: 'secret' },
      sentinelCredentials: {},
    });
  });

  it('can name nodes of a cluster, in IPv6, too', () => {
    expect(parseRedisAddress('redis+cluster://127.0.0.1:1,[::1]:2,localhost')).toEqual({
      kind: 'cluster',
      isEncrypted: false,
      nodes: [
        { host: '127.0.0.1', port: 1 },
        { host: '::1', port: 2 },
        { host: 'localhost', port: 6_379 },
      ],
      credentials: {},
    });
  });

  it.each(['/', '/0'])('can end in what says nothing of a cluster: %s', (end) => {
    const url = 'redis+cluster://a:1,b';
    expect(parseRedisAddress(`${url}${end}`)).toEqual(parseRedisAddress(url));
  });

  it.each(['sentinel', 'cluster'])('can ask for TLS to a group: %s', (kind) => {
    const plain = parseRedisAddress(`redis+${kind}://u:p@a:1,b`);
    expect(parseRedisAddress(`rediss+${kind}://u:p@a:1,b`)).toEqual({ ...plain, isEncrypted: true });
  });

  it.each([
    ['', 'starts with redis://, rediss://, unix://, redis\\+sentinel://, rediss\\+sentinel://, '],
    ['rediss+socket://a', '.*, redis\\+cluster:// or rediss\\+cluster://$'],
    ['redis', 'starts with'],
    ['http://127.0.0.1', 'starts with'],
    ['redis://', 'names its server as host:port'],
    ['redis://h:65536', 'names its server as host:port'],
    ['redis://:a#b@h', 'names its server as host:port'],
    ['redis://me:a@b#c@h:1', 'spells special characters as %40'],
    ['redis://me:p%ss@h', 'spells special characters as %40'],
    ['rediss://m%e:p@h', 'spells special characters as %40'],
    ['redis://h/one', 'names its database by a number'],
    ['rediss://h/1x', 'names its database by a number'],
    ['redis://h?db=one', 'names its database by a number'],
    ['unix://run/redis.sock', 'names a socket as unix:///path/of/redis.sock'],
    ['unix:///', 'names a socket as'],
    ['unix://me:a/b@/redis.sock', 'names a socket as'],
    ['unix:///redis.sock?database=1', 'names a socket as'],
    ['unix:///redis.sock?db=one', 'names its database by a number'],
    ['unix://:p%ss@/redis.sock', 'spells special characters as %40'],
    ['redis+sentinel://', 'names its nodes as host:port,host:port'],
    ['redis+sentinel://h/group/one', 'names its database by a number'],
    [
      'redis+sentinel://h/group?password=hush',
      'of sentinels ends in \\?sentinelUsername=…&sentinelPassword=…',
    ],
    ['redis+sentinel://h:65536', 'names its nodes as'],
    ['redis+cluster://a,,b', 'names its nodes as'],
    ['redis+cluster://a:b:c', 'names its nodes as'],
    ['redis+cluster://a/1', 'of a cluster names nodes and no database'],
    ['rediss+cluster://a/?db=1', 'of a cluster names nodes and no database'],
    ['rediss+cluster://a:b:c', 'names its nodes as'],
    ['rediss+sentinel://h/group/one', 'names its database by a number'],
  ])('of another kind is refused: %s', (url, rule) => {
    expect(() => parseRedisAddress(url)).toThrow(new RegExp(`^a Redis URL ${rule}`));
  });

  it.each(['redis+cluster://me:hush@a:b:c', 'unix://me:hush@redis.sock', 'redis://me:hush@h:x'])(
    'is not repeated in the refusal: it may hold a password (%s)',
    (url) => {
      expect(() => parseRedisAddress(url)).toThrow(/^(?!.*hush)/);
    },
  );

  it.each([
    ['rediss://me:mine@host:1/3', 'host:1/3'],
    ['redis://:100%@host', 'host'],
    ['redis://host:1/3?password=mine', 'host:1/3'],
    ['unix://:p%40ss@/run/redis@main.sock?db=1', '/run/redis@main.sock?db=1'],
    ['redis+cluster://me:mine@a:1,b:2', 'a:1,b:2'],
    ['rediss+sentinel://me:mine@a:1,b:2/group/3', 'a:1,b:2/group/3'],
  ])('is printed without user and password: %s', (url, printed) => {
    expect(printableAddress(url)).toBe(printed);
  });
});
