/** Every Redis key and channel of this library. One hash tag: tenancy lives in one slot, so a Cluster keeps it whole. */
export interface TenancyNames {
  /** Hash of one key's record, filed under the keyed hash of its credential. */
  key(hash: string): string;
  /** Hash: key id → keyed hash. */
  readonly keyIds: string;
  /** Hash of one tenant's record. */
  tenant(id: string): string;
  /** Set of all tenant ids. */
  readonly tenants: string;
  /** Set of the key ids of one tenant. */
  keysOf(tenant: string): string;
  /** Keyed hash of a constant: tells with which secret the newest key was minted. */
  readonly secretMark: string;
  /** Channel that says which key or tenant changed. */
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
