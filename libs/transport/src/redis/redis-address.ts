import { SluiceError } from '@sluice/canonical';

/** One server of a group. */
export interface RedisNode {
  host: string;
  port: number;
}

/** What a client logs in with; absent parts are not sent. */
export interface RedisCredentials {
  username?: string;
  password?: string;
}

/** Where a Redis is: one server, by TCP or by a socket of this machine, or a group of servers. */
export type RedisAddress =
  | { kind: 'server'; url: string }
  | { kind: 'socket'; path: string; db: number; credentials: RedisCredentials }
  | {
      kind: 'sentinel';
      /** Whether sentinels and servers are spoken to by TLS. */
      isEncrypted: boolean;
      nodes: RedisNode[];
      group: string;
      db: number;
      credentials: RedisCredentials;
      /** For the sentinels themselves, which do not accept the credentials of the servers. */
      sentinelCredentials: RedisCredentials;
    }
  | { kind: 'cluster'; isEncrypted: boolean; nodes: RedisNode[]; credentials: RedisCredentials };

const specialCharacters = 'spells special characters as %40';
const redisPort = 6_379;
const sentinelPort = 26_379;
/** The schemes that a URL may have, as the end of a sentence. */
export const redisSchemes =
  'redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://';

/**
 * Reads the URL of a Redis: `redis[s]://[user:password@]host:port[/db]`, `unix://[user:password@]/path[?db=N]`,
 * `redis[s]+sentinel://[user:password@]host:port,host:port/group[/db][?sentinelPassword=…&sentinelUsername=…]` (group:
 * `mymaster`) or `redis[s]+cluster://[user:password@]host:port,host:port`. Throws `invalid-request` for any other URL,
 * without repeating any of it, because it may hold a password.
 */
export function parseRedisAddress(url: string): RedisAddress {
  const [prefix = '', scheme] = /^([a-z+]+):\/\//.exec(url) ?? [];
  const rest = url.slice(prefix.length);
  switch (scheme) {
    case 'redis':
    case 'rediss':
      if (!URL.canParse(url) || rest === '') throw invalid('names its server as host:port');
      checkServer(new URL(url));
      return { kind: 'server', url };
    case 'unix':
      return parseSocket(rest);
    case 'redis+sentinel':
    case 'rediss+sentinel': {
      const { nodes, path, credentials } = parseNodes(rest, sentinelPort);
      const [way = '', query] = path.split('?');
      const [group, db] = way.split('/');
      return {
        kind: 'sentinel',
        isEncrypted: scheme === 'rediss+sentinel',
        nodes,
        group: group || 'mymaster',
        db: parseDatabase(db),
        credentials,
        sentinelCredentials: parseSentinelCredentials(query),
      };
    }
    case 'redis+cluster':
    case 'rediss+cluster': {
      const { nodes, path, credentials } = parseNodes(rest, redisPort);
      // Two installations that believe themselves in databases of their own would take each other's jobs.
      if (path !== '' && path !== '0')
        throw invalid('of a cluster names nodes and no database: it has but one');
      return { kind: 'cluster', isEncrypted: scheme === 'rediss+cluster', nodes, credentials };
    }
    default:
      throw invalid(`starts with ${redisSchemes}`);
  }
}

/** The address without its users and passwords. The URL must be one that can be read. */
export function printableAddress(url: string): string {
  const rest = url.replace(/^[^/]*\/\//, '');
  if (url.startsWith('unix:')) return splitSocket(rest).place;
  // A query may hold a password, too.
  return splitLogin(rest.replace(/\?.*/s, '')).place;
}

/** Reads what follows the scheme: `[user:password@]/path[?db=N]`. */
function parseSocket(rest: string): RedisAddress {
  const { login, place } = splitSocket(rest);
  const [, path, db] = /^(\/[^?]+)(?:\?db=(.*))?$/.exec(place) ?? [];
  if (path === undefined) throw invalid('names a socket as unix:///path/of/redis.sock?db=0');
  return {
    kind: 'socket',
    path: decode(path),
    db: parseDatabase(db),
    credentials: parseCredentials(login),
  };
}

/** Reads what follows the scheme: `[user:password@]host[:port],host[:port][/path]`. An IPv6 host stands in brackets. */
function parseNodes(
  rest: string,
  defaultPort: number,
): { nodes: RedisNode[]; path: string; credentials: RedisCredentials } {
  const { login, place } = splitLogin(rest);
  const [, hosts = '', path = ''] = /^([^/]*)\/?(.*)$/.exec(place) ?? [];
  const nodes = hosts.split(',').map((node) => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(node) ?? [];
    const host = bracketed ?? plain;
    const number = port === undefined ? defaultPort : Number(port);
    if (host === undefined || number > 65_535) throw invalid('names its nodes as host:port,host:port');
    return { host, port: number };
  });
  return { nodes, path, credentials: parseCredentials(login) };
}

interface Split {
  /** `user:password`, or nothing. */
  login: string;
  place: string;
}

/** A path may hold an @ of its own. */
function splitSocket(rest: string): Split {
  const [, login = '', place = ''] = /^(?:([^/]*)@)?(\/.*)$/.exec(rest) ?? [];
  return { login, place };
}

/** A password that stands in a query may hold an @ of its own. */
function splitLogin(rest: string): Split {
  const query = rest.indexOf('?');
  const at = rest.lastIndexOf('@', query < 0 ? undefined : query);
  return { login: rest.slice(0, Math.max(0, at)), place: rest.slice(at + 1) };
}

function parseCredentials(login: string): RedisCredentials {
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/.exec(login) ?? [];
  return {
    ...(username && { username: decode(username) }),
    ...(password && { password: decode(password) }),
  };
}

const sentinelNames: Readonly<Record<string, keyof RedisCredentials>> = {
  sentinelUsername: 'username',
  sentinelPassword: 'password',
};

function parseSentinelCredentials(query = ''): RedisCredentials {
  const credentials: RedisCredentials = {};
  for (const pair of query.split('&').filter((each) => each !== '')) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    const field = Object.hasOwn(sentinelNames, name) ? sentinelNames[name] : undefined;
    if (!field) throw invalid(`of sentinels ends in ?${Object.keys(sentinelNames).join('=…&')}=…`);
    credentials[field] = decode(value);
  }
  return credentials;
}

/**
 * Checks what ioredis, which reads the URL by itself, would take for something else: a name that is no number for
 * database 0, and half of a password that holds a bare # for the host, which is looked up and logged.
 */
function checkServer({ username, password, hash, pathname, searchParams }: URL): void {
  if (hash !== '') throw invalid(specialCharacters);
  decode(username);
  decode(password);
  parseDatabase(pathname.slice(1));
  parseDatabase(searchParams.get('db') ?? '');
}

/** Absent or empty: database 0. */
function parseDatabase(text = ''): number {
  if (/^\d*$/.test(text)) return Number(text);
  throw invalid('names its database by a number');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(specialCharacters);
  }
}

function invalid(rule: string): SluiceError {
  return new SluiceError('invalid-request', `a Redis URL ${rule}`);
}
