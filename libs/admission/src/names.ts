/** The part of Redis in which one script may work: a hash tag, so that a Cluster keeps it on one node. */
export type Slot = string;

/** Every Redis key of this library. */
export interface AdmissionNames {
  /** Where the limits of a tenant and its keys are counted. */
  tenantSlot(tenant: string): Slot;
  /** Where the places of a pool are counted. */
  poolSlot(pool: string): Slot;
  /** Zset: slots in use by the instant (Redis time) until which somebody promised to look after them. */
  readonly slotsInUse: string;
}

/** The names under one prefix; two installations in one database need two prefixes. */
export function admissionNames(prefix: string): AdmissionNames {
  return {
    // Encoded, because a brace or colon in a name would move it to another slot or into another's keys.
    tenantSlot: (tenant) => `${prefix}:{t:${encodeURIComponent(tenant)}}`,
    poolSlot: (pool) => `${prefix}:{p:${encodeURIComponent(pool)}}`,
    slotsInUse: `${prefix}:admission:slots`,
  };
}

/** The keys of a slot's book, which every script works on: see scripts/ledger.lua. */
export function bookKeys(slot: Slot): [open: string, records: string, mean: string] {
  return [`${slot}:open`, `${slot}:records`, meanKey(slot)];
}

/** Where the mean service time of a pool is kept. */
export function meanKey(slot: Slot): string {
  return countKey(slot, 'service', 'mean');
}

/** Where a limit counts for one key of a tenant, or absent that, for all of its keys together. */
export function policyKey(slot: Slot, limit: string, keyId: string | undefined): string {
  return countKey(slot, limit, keyId === undefined ? 'tenant' : `key:${encodeURIComponent(keyId)}`);
}

/** Where a limit counts for one scope, as `sluice:{t:acme}:concurrency:key:key_1`. */
export function countKey(slot: Slot, limit: string, scope: string): string {
  return `${slot}:${limit}:${scope}`;
}
