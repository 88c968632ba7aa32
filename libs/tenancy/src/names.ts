/**
 * Every Redis key and channel of this library. All have one hash tag, so that a Cluster keeps them together in one
 * slot.
 */
export interface TenancyNames {
  /** Hash: the record of one key, by the keyed hash of its credential. */
  key(hash: string): string;
  /** Hash: key id → keyed hash. */
  readonly keyIds: string;
  /** Hash: the record of one tenant. */
  tenant(id: string): string;
  /** Set of all tenant ids. */
  readonly tenants: string;
  /** Set of the key ids of one tenant. */
  keysOf(tenant: string): string;
  /** Keyed hash of a constant, which shows whether the newest key was minted with the same secret. */
  readonly secretMark: string;
  /** Channel on which changes of keys and tenants are published. */
  readonly changes: string;
}

/** The names under one prefix; two installations in one database need two prefixes. */
export function tenancyNames(prefix: string): TenancyNames {
  const slot = `${prefix}:{tenancy}`;
  return {
    key: (hash) => `${slot}:key:${hash}`,
    keyIds: `${slot}:key-ids`,
    tenant: (id) => `${slot}:tenant:${id}`,
    tenants: `${slot}:tenants`,
    keysOf: (tenant) => `${slot}:keys-of:${tenant}`,
    secretMark: `${slot}:secret-mark`,
    changes: `${slot}:changes`,
  };
}
