import { systemClock } from '@sluice/runtime';
import type { Cluster, Redis } from 'ioredis';
import { Authenticator } from './authenticator.ts';
import type { Caller } from './caller.ts';
import type { RandomBytes } from './credential.ts';
import { Directory } from './directory.ts';

/** Most credentials in the cache, valid and invalid ones together. */
const cacheSize = 10_000;

/** Where the records are, and how long they are cached. */
export interface KeyStoreOptions {
  /** Connection for commands. It should fail fast, because requests wait for its replies. */
  redis: Redis | Cluster;
  /** Secret of the keyed hash, at least 16 characters. */
  secret: string;
  /**
   * Connection in subscriber mode for the subscription to changes. It may carry other subscriptions, and is not closed
   * by the store. Absent means that every authentication asks Redis.
   */
  subscriber?: Redis;
  /** Epoch milliseconds; default `Date.now`. */
  now?: () => number;
  /** Milliseconds by which the cache ages, so that it heeds no setting of the host's clock; default the host's. */
  monotonic?: () => number;
  /** Default `randomBytes` of node:crypto. */
  randomBytes?: RandomBytes;
  /** How long a valid credential is cached, milliseconds; default 10,000. */
  cacheMs?: number;
  /** How long an invalid credential is cached, milliseconds; default 2,000. */
  unknownCacheMs?: number;
  /**
   * How long a request waits for a look-up before it fails as `unavailable`, milliseconds; default 500. What is found
   * later is kept all the same.
   */
  lookupTimeoutMs?: number;
}

/** Tenants and their keys. Open it with `start` before the first `authenticate`. */
export interface KeyStore {
  /** The records, for operators: mint, revoke, list, limits. */
  readonly directory: Directory;
  /**
   * The first valid credential wins; the number of credentials must be bounded where they are read from a call. Throws
   * `unauthenticated`, or `unavailable` if Redis cannot be asked.
   */
  authenticate(credentials: readonly string[]): Promise<Caller>;
  /** The caller that `authenticate` would find without asking Redis; absent if it would ask or refuse. */
  recall(credentials: readonly string[]): Caller | undefined;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the key store of one process. */
export function createKeyStore(options: KeyStoreOptions): KeyStore {
  const { redis, secret, subscriber, now = Date.now } = options;
  const { monotonic = systemClock.monotonic } = options;
  const directory = new Directory({
    redis,
    secret,
    now,
    ...(options.randomBytes && { randomBytes: options.randomBytes }),
  });
  const authenticator = new Authenticator(directory, {
    secret,
    now,
    monotonic,
    subscriber,
    cacheSize,
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
