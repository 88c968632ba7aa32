import type { Cluster, Redis } from 'ioredis';
import { Authenticator } from './authenticator.ts';
import type { Caller } from './caller.ts';
import type { RandomBytes } from './credential.ts';
import { Directory } from './directory.ts';
import { tenancyNames } from './names.ts';

export interface KeyStoreOptions {
  /** Connection for commands; best one that fails fast, since a waiting request waits with it. */
  redis: Redis | Cluster;
  /** Secret of the keyed hash, at least 16 characters. */
  secret: string;
  /**
   * Connection in subscriber mode on which changes are heard; it may carry other subscriptions and stays the
   * caller's to close. Absent means that every authentication asks Redis.
   */
  subscriber?: Redis | Cluster;
  /** Epoch milliseconds; default `Date.now`. */
  now?: () => number;
  /** Default `randomBytes` of node:crypto. */
  randomBytes?: RandomBytes;
  /** First part of every Redis key; default `sluice`. */
  prefix?: string;
  /** Credentials remembered, good and bad together; default 10,000. */
  cacheSize?: number;
  /** How long a good credential is trusted without a word from Redis; default 10,000. */
  cacheMs?: number;
  /** How long a bad credential is refused without asking again; default 2,000. */
  unknownCacheMs?: number;
  /** How long a request waits for a look-up before it is told `unavailable`; default 500. */
  lookupTimeoutMs?: number;
}

/** Tenants and their keys. Open it with `start` before the first `authenticate`. */
export interface KeyStore {
  /** For operators: mint, revoke, list, limits. */
  readonly directory: Directory;
  /**
   * The first good credential wins; whoever reads them from a call bounds their number. Throws `unauthenticated`, or
   * `unavailable` where Redis can't be asked.
   */
  authenticate(credentials: readonly string[]): Promise<Caller>;
  /** The caller whom `authenticate` would find without asking Redis; absent when it would ask, or refuse. */
  recall(credentials: readonly string[]): Caller | undefined;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the key store of one process. */
export function createKeyStore(options: KeyStoreOptions): KeyStore {
  const { redis, secret, subscriber, now = Date.now, prefix = 'sluice' } = options;
  const directory = new Directory({
    redis,
    secret,
    now,
    prefix,
    ...(options.randomBytes && { randomBytes: options.randomBytes }),
  });
  const authenticator = new Authenticator(directory, {
    secret,
    now,
    subscriber,
    changes: tenancyNames(prefix).changes,
    cacheSize: options.cacheSize ?? 10_000,
    cacheMs: options.cacheMs ?? 10_000,
    unknownCacheMs: options.unknownCacheMs ?? 2_000,
    lookupTimeoutMs: options.lookupTimeoutMs ?? 500,
  });
  return {
    directory,
    authenticate: (credentials) => authenticator.authenticate(credentials),
    recall: (credentials) => authenticator.recall(credentials),
    start: () => authenticator.start(),
    close: () => authenticator.stop(),
  };
}
