/** One hash tag for all, so that a Cluster keeps them together in one slot. */
const slot = 'sluice:{tenancy}';

/** Every Redis key and channel of this library. */
export const names = {
  /** Hash: the record of one key, by the keyed hash of its credential. */
  key: (hash: string): string => `${slot}:key:${hash}`,
  /** Hash: key id → keyed hash. */
  keyIds: `${slot}:key-ids`,
  /** Hash: the record of one tenant. */
  tenant: (id: string): string => `${slot}:tenant:${id}`,
  /** Set of all tenant ids. */
  tenants: `${slot}:tenants`,
  /** Set of the key ids of one tenant. */
  keysOf: (tenant: string): string => `${slot}:keys-of:${tenant}`,
  /** Keyed hash of a constant, which shows whether the newest key was minted with the same secret. */
  secretMark: `${slot}:secret-mark`,
  /** Channel on which changes of keys and tenants are published. */
  changes: `${slot}:changes`,
} as const;
