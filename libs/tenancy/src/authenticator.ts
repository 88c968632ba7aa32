import { SluiceError } from '@sluice/canonical';
import { afterAwake, systemClock, withoutRedis } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { type Caller, createCaller } from './caller.ts';
import { hashCredential, isCredential } from './credential.ts';
import type { Directory } from './directory.ts';
import { names } from './names.ts';
import { Recent } from './recent.ts';

const hashLifeMs = 60_000;
/** How soon a refused subscription is tried again. */
const retryMs = 1_000;

/** How long findings are trusted, and how changes are heard. */
export interface AuthenticatorOptions {
  secret: string;
  /** Epoch milliseconds, for the expiry of keys. */
  now: () => number;
  /** Monotonic milliseconds, for the age of findings. */
  monotonic: () => number;
  /** A connection in subscriber mode, which others may share. Absent means that Redis is asked every time. */
  subscriber: Redis | undefined;
  cacheSize: number;
  cacheMs: number;
  unknownCacheMs: number;
  lookupTimeoutMs: number;
}

/** What is known about a credential. `expiresAt` is when the key itself expires, however long the finding is cached. */
type Finding = { caller: Caller; expiresAt: number } | { caller: undefined; refusal: string };

const unknown: Finding = { caller: undefined, refusal: 'the api key is not known' };

/**
 * Finds out who calls. Findings are cached for a short while, and dropped the moment their records change. While the
 * subscription to changes is down, Redis is asked every time, and cached findings are used only if it does not answer.
 */
export class Authenticator {
  private readonly directory: Pick<Directory, 'findKey' | 'findTenant'>;
  private readonly options: AuthenticatorOptions;
  private readonly recent: Recent<Finding>;
  private readonly hashes: Recent<string>;
  private readonly lookups = new Map<string, Promise<Finding>>();
  private subscribed = false;
  private retry: NodeJS.Timeout | undefined;
  /** Counts changes, so that a look-up during which one happened is not cached. */
  private changeCount = 0;

  constructor(directory: Pick<Directory, 'findKey' | 'findTenant'>, options: AuthenticatorOptions) {
    this.directory = directory;
    this.options = options;
    this.recent = new Recent(options.cacheSize, options.monotonic);
    this.hashes = new Recent(options.cacheSize, options.monotonic);
  }

  /**
   * Resolves once it is subscribed to changes. If Redis is down it resolves, too, and subscribes when Redis is back.
   */
  async start(): Promise<void> {
    const { subscriber } = this.options;
    if (!subscriber) return;
    subscriber.on('message', this.hear);
    subscriber.on('ready', this.subscribe);
    subscriber.on('close', this.unsubscribed);
    await this.subscribe();
  }

  async stop(): Promise<void> {
    const { subscriber } = this.options;
    if (!subscriber) return;
    subscriber.off('message', this.hear);
    subscriber.off('ready', this.subscribe);
    subscriber.off('close', this.unsubscribed);
    clearTimeout(this.retry);
    this.unsubscribed();
    // The reply is not awaited, because a Redis that is gone would hold up the whole drain.
    if (subscriber.status === 'ready') subscriber.unsubscribe(names.changes).catch(() => undefined);
  }

  /**
   * The caller that `authenticate` would find without asking Redis; absent if it would have to ask, or would refuse.
   * This saves nearly every call four promises.
   */
  recall(credentials: readonly string[]): Caller | undefined {
    if (!this.subscribed) return undefined;
    for (const credential of credentials) {
      if (!isCredential(credential)) continue;
      const kept = this.recent.get(this.hashOf(credential));
      if (!kept) return undefined;
      const { caller } = this.judge(kept);
      if (caller) return caller;
    }
    return undefined;
  }

  /** The first valid credential wins. Throws `unauthenticated`, or `unavailable` if Redis cannot be asked. */
  async authenticate(credentials: readonly string[]): Promise<Caller> {
    const known = this.recall(credentials);
    if (known) return known;
    let refusal: string | undefined;
    let outage: SluiceError | undefined;
    for (const credential of credentials) {
      if (!isCredential(credential)) {
        refusal ??= 'the api key has not the form sk-… of a key of this service';
        continue;
      }
      try {
        const finding = this.judge(await this.find(this.hashOf(credential)));
        if (finding.caller) return finding.caller;
        refusal = finding.refusal;
      } catch (error) {
        if (!(error instanceof SluiceError) || error.kind !== 'unavailable') throw error;
        outage = error;
      }
    }
    if (outage) throw outage;
    throw new SluiceError('unauthenticated', refusal ?? 'the request has no api key');
  }

  /** Hashing takes 4 µs, a cached hash 0.6. For that, credentials in use are kept in this process's memory. */
  private hashOf(credential: string): string {
    const known = this.hashes.get(credential);
    if (known !== undefined) return known;
    const hash = hashCredential(credential, this.options.secret);
    this.hashes.set(credential, hash, hashLifeMs);
    return hash;
  }

  private async find(hash: string): Promise<Finding> {
    const kept = this.recent.get(hash);
    if (kept && this.subscribed) return kept;
    try {
      return await this.lookUpInTime(hash);
    } catch (error) {
      if (kept) return kept;
      throw error;
    }
  }

  /**
   * Waits for a look-up no longer than a request may. One that takes longer goes on, for those who have come to it
   * since and for what is kept: else, with a Redis that is far away, every request would be refused and not only the
   * first ones.
   */
  private async lookUpInTime(hash: string): Promise<Finding> {
    const lookup = this.lookUp(hash);
    try {
      return await within(this.options.lookupTimeoutMs, lookup);
    } catch (cause) {
      // Its answer may be lost: whoever comes next asks anew.
      if (this.lookups.get(hash) === lookup) this.lookups.delete(hash);
      if (cause instanceof SluiceError) throw cause;
      throw withoutRedis('the key store does not answer', cause);
    }
  }

  /** Looks a credential up, with one look-up at a time for all requests that have the same one. */
  private lookUp(hash: string): Promise<Finding> {
    const running = this.lookups.get(hash);
    if (running) return running;
    const changesBefore = this.changeCount;
    const lookup = this.readRecords(hash)
      .then((finding) => {
        const lifeMs = finding.caller ? this.options.cacheMs : this.options.unknownCacheMs;
        if (this.changeCount === changesBefore) this.recent.set(hash, finding, lifeMs);
        return finding;
      })
      .finally(() => {
        if (this.lookups.get(hash) === lookup) this.lookups.delete(hash);
      });
    this.lookups.set(hash, lookup);
    return lookup;
  }

  private async readRecords(hash: string): Promise<Finding> {
    const key = await this.directory.findKey(hash);
    if (!key) return unknown;
    if (key.revokedAt !== undefined)
      return { caller: undefined, refusal: `the api key ${key.prefix}… is revoked` };
    const tenant = await this.directory.findTenant(key.tenant);
    if (!tenant) return unknown;
    return { caller: createCaller(key, tenant), expiresAt: key.expiresAt ?? Number.POSITIVE_INFINITY };
  }

  private judge(finding: Finding): Finding {
    if (!finding.caller || finding.expiresAt > this.options.now()) return finding;
    return { caller: undefined, refusal: 'the api key is expired' };
  }

  private readonly subscribe = async (): Promise<void> => {
    const { subscriber } = this.options;
    clearTimeout(this.retry);
    try {
      await subscriber?.subscribe(names.changes);
    } catch {
      // Until it is subscribed, the cache is not trusted over Redis. A connection that was cut subscribes again at its
      // next `ready`. If it is still ready, the subscription itself was refused, and only a timer tries again.
      if (subscriber?.status === 'ready') this.retry = setTimeout(this.subscribe, retryMs).unref();
      return;
    }
    // Changes between the cut and now have been missed.
    this.changeCount += 1;
    this.recent.clear();
    this.subscribed = true;
  };

  private readonly unsubscribed = (): void => {
    this.subscribed = false;
  };

  private readonly hear = (channel: string, message: string): void => {
    if (channel !== names.changes) return;
    this.changeCount += 1;
    const [subject, id = ''] = message.split(' ');
    if (subject === 'key') this.recent.delete(id);
    else this.recent.deleteWhere(({ caller }) => caller === undefined || caller.tenant === id);
  };
}

async function within<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  using _limit = afterAwake(systemClock, limitMs, () => reject(withoutRedis('the key store is slow')));
  return await Promise.race([work, promise]);
}
