import { randomBytes } from 'node:crypto';
import { type Json, SluiceError } from '@sluice/canonical';
import type { Cluster, Redis } from 'ioredis';
import {
  hashCredential,
  mintCredential,
  type RandomBytes,
  randomLetters,
  visiblePrefix,
} from './credential.ts';
import { names } from './names.ts';
import {
  encodeFields,
  fieldOfLimit,
  type Key,
  type Limits,
  parseKey,
  parseTenant,
  type Tenant,
  type TenantSettings,
  tenantWeight,
} from './record.ts';
import { RecordWriter } from './record-writer.ts';

const tenantShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const keyIdLetters = 16;
/**
 * Ids per command, and records that are asked for at once: a tenant may have more keys than one command takes arguments,
 * and Redis serves callers in between.
 */
const idsAtOnce = 1_000;

/** Where the records are, and what a test may replace. */
export interface DirectoryOptions {
  redis: Redis | Cluster;
  /** Secret of the keyed hash, at least 16 characters; without it, no keys can be minted. */
  secret?: string;
  /** Epoch milliseconds; default `Date.now`. */
  now?: () => number;
  /** Default `randomBytes` of node:crypto. */
  randomBytes?: RandomBytes;
}

/** What a new key may do; whatever is absent is unlimited. */
export interface MintOptions {
  tenant: string;
  name?: string;
  models?: readonly string[];
  limits?: Limits;
  /** Instant in epoch milliseconds. */
  expiresAt?: number;
}

/** Whose secret the newest stored key was minted with; `none` if no key was ever minted, or Redis has lost them. */
export type KnownKeys = 'ours' | 'foreign' | 'none';

/** Changes of policies, by limit: a policy replaces the old one, null removes it. */
export type LimitChanges = Readonly<Record<string, Json>>;

/** The records of tenants and keys, for operators to read and change. Every ingress is told of each change. */
export class Directory {
  private readonly redis: Redis | Cluster;
  private readonly secret: string | undefined;
  private readonly now: () => number;
  private readonly randomBytes: RandomBytes;
  private readonly writer: RecordWriter;

  constructor(options: DirectoryOptions) {
    this.redis = options.redis;
    this.secret = options.secret;
    this.now = options.now ?? Date.now;
    this.randomBytes = options.randomBytes ?? randomBytes;
    this.writer = new RecordWriter(options.redis);
    if (this.secret !== undefined && this.secret.length < 16) {
      throw new SluiceError('invalid-request', 'the key secret is shorter than 16 characters');
    }
  }

  /** Creates the tenant. If it exists, changes the given settings and leaves the rest as it was. */
  async upsertTenant(id: string, settings: TenantSettings = {}): Promise<Tenant> {
    if (!tenantShape.test(id)) {
      throw new SluiceError(
        'invalid-request',
        `tenant id ${JSON.stringify(id)} is not 1 to 64 letters, digits, '.', '_' or '-', a letter or digit first`,
      );
    }
    const { weight } = settings;
    if (weight !== undefined && !tenantWeight.safeParse(weight).success) {
      throw new SluiceError('invalid-request', 'the weight of a tenant is a number from 0.01 to 100');
    }
    const record = names.tenant(id);
    const fields = Object.entries(encodeFields({ id, createdAt: this.now(), ...settings, limits: {} }));
    await this.writer.create(record, `tenant ${id}`, [
      ['SADD', names.tenants, id],
      ...fields.map(([field, value]) => [field in settings ? 'HSET' : 'HSETNX', record, field, value]),
    ]);
    return this.tenant(id);
  }

  /** Throws `not-found` if there is no such tenant. */
  async tenant(id: string): Promise<Tenant> {
    const tenant = await this.findTenant(id);
    if (!tenant) throw noTenant(id);
    return tenant;
  }

  async findTenant(id: string): Promise<Tenant | undefined> {
    return parseTenant(await this.redis.hgetall(names.tenant(id)));
  }

  /** All tenants, by id. */
  async listTenants(): Promise<Tenant[]> {
    const ids = await this.redis.smembers(names.tenants);
    const found = await Promise.all(ids.sort().map((id) => this.findTenant(id)));
    return found.filter((tenant) => tenant !== undefined);
  }

  /** Deletes the tenant with all its keys, which are refused from then on. Returns the ids of the keys. */
  async deleteTenant(id: string): Promise<string[]> {
    const keyIds = await this.writer.deleteTenant(id);
    if (!keyIds) throw noTenant(id);
    return keyIds;
  }

  /** Makes a key. The credential is returned and stored nowhere, so it cannot be shown again. */
  async mint({ tenant, limits = {}, ...options }: MintOptions): Promise<{ credential: string; key: Key }> {
    const secret = this.secretForMinting();
    const credential = mintCredential(this.randomBytes);
    const hash = hashCredential(credential, secret);
    const key: Key = {
      id: `key_${randomLetters(keyIdLetters, this.randomBytes)}`,
      tenant,
      ...options,
      prefix: visiblePrefix(credential),
      limits,
      createdAt: this.now(),
    };
    const isMinted = await this.writer.change(names.tenant(tenant), `key ${hash}`, [
      ['HSET', names.key(hash), ...Object.entries(encodeFields(key)).flat()],
      ['HSET', names.keyIds, key.id, hash],
      ['SET', names.secretMark, markOf(secret)],
      ['SADD', names.keysOf(tenant), key.id],
    ]);
    if (!isMinted) throw noTenant(tenant);
    return { credential, key };
  }

  /** Whether the newest key was minted with our secret. If not, the stored keys are of no use here. */
  async knowsSecret(): Promise<boolean> {
    return (await this.keysKnown()) !== 'foreign';
  }

  async keysKnown(): Promise<KnownKeys> {
    const mark = await this.redis.get(names.secretMark);
    if (mark === null) return 'none';
    return mark === markOf(this.secretForMinting()) ? 'ours' : 'foreign';
  }

  /** Throws `not-found` if there is no such key. */
  async key(id: string): Promise<Key> {
    const key = await this.findKey(await this.hashOf(id));
    if (!key) throw new SluiceError('not-found', `there is no key ${id}`);
    return key;
  }

  /** The key whose credential has this keyed hash. */
  async findKey(hash: string): Promise<Key | undefined> {
    return parseKey(await this.redis.hgetall(names.key(hash)));
  }

  /** The keys of one tenant or of all, revoked ones included, oldest first. */
  async listKeys(tenant?: string): Promise<Key[]> {
    const hashes =
      tenant === undefined
        ? await this.allHashes()
        : await this.hashesOf(await this.redis.smembers(names.keysOf(tenant)));
    const keys: Key[] = [];
    for (let from = 0; from < hashes.length; from += idsAtOnce) {
      const some = hashes.slice(from, from + idsAtOnce);
      const found = await Promise.all(some.map((hash) => (hash === null ? undefined : this.findKey(hash))));
      keys.push(...found.filter((key) => key !== undefined));
    }
    return keys.sort((a, b) => a.createdAt - b.createdAt || a.id.localeCompare(b.id));
  }

  /** Revokes the key on every ingress at once. Revoking it again changes nothing. */
  async revoke(id: string): Promise<Key> {
    const hash = await this.hashOf(id);
    const record = names.key(hash);
    await this.writer.change(record, `key ${hash}`, [['HSETNX', record, 'revokedAt', String(this.now())]]);
    return this.key(id);
  }

  /** Deletes keys, which are not known from then on. Returns how many of them there were. */
  async deleteKeys(ids: readonly string[]): Promise<number> {
    let count = 0;
    for (let from = 0; from < ids.length; from += idsAtOnce)
      count += await this.writer.deleteKeys(ids.slice(from, from + idsAtOnce));
    return count;
  }

  /** Changes policies of a tenant. The caller has to check their shapes. */
  async changeTenantLimits(id: string, changes: LimitChanges): Promise<Tenant> {
    await this.changeLimits(names.tenant(id), changes, `tenant ${id}`);
    return this.tenant(id);
  }

  /** Changes policies of a key. The caller has to check their shapes. */
  async changeKeyLimits(id: string, changes: LimitChanges): Promise<Key> {
    const hash = await this.hashOf(id);
    await this.changeLimits(names.key(hash), changes, `key ${hash}`);
    return this.key(id);
  }

  private secretForMinting(): string {
    if (this.secret === undefined)
      throw new SluiceError('invalid-request', 'minting keys takes the key secret');
    return this.secret;
  }

  private async changeLimits(record: string, changes: LimitChanges, subject: string): Promise<void> {
    const commands = Object.entries(changes).map(([limit, policy]) =>
      policy === null
        ? ['HDEL', record, fieldOfLimit(limit)]
        : ['HSET', record, fieldOfLimit(limit), JSON.stringify(policy)],
    );
    // If the record is gone, the caller's next read of it throws.
    await this.writer.change(record, subject, commands);
  }

  private async hashOf(id: string): Promise<string> {
    const hash = await this.redis.hget(names.keyIds, id);
    if (hash === null) throw new SluiceError('not-found', `there is no key ${id}`);
    return hash;
  }

  /** The hashes of all keys. Read at once, 100,000 of them would keep Redis from callers for 60 ms. */
  private async allHashes(): Promise<string[]> {
    const hashes = new Set<string>();
    let cursor = '0';
    do {
      const [next, fields] = await this.redis.hscan(names.keyIds, cursor, 'COUNT', idsAtOnce);
      fields.forEach((value, index) => {
        if (index % 2 === 1) hashes.add(value);
      });
      cursor = next;
    } while (cursor !== '0');
    return [...hashes];
  }

  private async hashesOf(ids: string[]): Promise<(string | null)[]> {
    const hashes: (string | null)[] = [];
    for (let from = 0; from < ids.length; from += idsAtOnce) {
      hashes.push(...(await this.redis.hmget(names.keyIds, ...ids.slice(from, from + idsAtOnce))));
    }
    return hashes;
  }
}

function noTenant(id: string): SluiceError {
  return new SluiceError('not-found', `there is no tenant ${id}`);
}

function markOf(secret: string): string {
  return hashCredential('the secret of this installation', secret);
}
