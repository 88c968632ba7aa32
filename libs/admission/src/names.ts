/**
 * Prefix of all keys of one tenant or pool, with a hash tag, so that a Cluster keeps them on one node for one script.
 */
export type Slot = string;

/** Every Redis key of this library. */
export interface AdmissionNames {
  /** The slot in which the limits of a tenant and its keys are counted. */
  tenantSlot(tenant: string): Slot;
  /** The slot in which the places of a pool are counted. */
  poolSlot(pool: string): Slot;
  /**
   * Zset of the slots in use, each with the instant (Redis time) until which a process has promised to look after it.
   */
  readonly slotsInUse: string;
}

/** The names under one prefix; two installations in one database need two prefixes. */
export function admissionNames(prefix: string): AdmissionNames {
  return {
    // Names are encoded, because a brace or colon in one would lead to another slot or to the keys of another name.
    tenantSlot: (tenant) => `${prefix}:{t:${encodeURIComponent(tenant)}}`,
    poolSlot: (pool) => `${prefix}:{p:${encodeURIComponent(pool)}}`,
    slotsInUse: `${prefix}:admission:slots`,
  };
}

/** The keys of a slot's book, with which every script works: see scripts/ledger.lua. */
export function bookKeys(slot: Slot): [open: string, records: string, mean: string] {
  return [`${slot}:open`, `${slot}:records`, meanKey(slot)];
}

/** Key of the mean service time of a pool. */
export function meanKey(slot: Slot): string {
  return countKey(slot, 'service', 'mean');
}

/** Key of a limit's count for one API key of a tenant, or for all of its keys together if `keyId` is absent. */
export function policyKey(slot: Slot, limit: string, keyId: string | undefined): string {
  return countKey(slot, limit, keyId === undefined ? 'tenant' : `key:${encodeURIComponent(keyId)}`);
}

/** Key of a limit's count in one scope, such as `sluice:{t:acme}:concurrency:key:key_1`. */
export function countKey(slot: Slot, limit: string, scope: string): string {
  return `${slot}:${limit}:${scope}`;
}
