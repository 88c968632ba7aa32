import { matchesModel } from './model-pattern.ts';
import type { Key, Limits, Tenant } from './record.ts';

/** Policies by whom they bind. The scopes are counted apart: a key's use counts for its tenant, too. */
export interface ScopedLimits {
  readonly tenant: Limits;
  readonly key: Limits;
}

/** Who calls, once a credential was found good. */
export interface Caller {
  readonly tenant: string;
  readonly keyId: string;
  /** How much of a full pool is its tenant's, beside one of weight 1. */
  readonly weight: number;
  /** The same object for as long as the record is cached, so that what is derived from it can be kept, too. */
  readonly limits: ScopedLimits;
  /** True if the key's list of models admits this name; a key without a list may use all. */
  allows(model: string): boolean;
}

/** The caller that a key of this tenant stands for. */
export function createCaller(key: Key, tenant: Tenant): Caller {
  const { models } = key;
  return {
    tenant: tenant.id,
    keyId: key.id,
    weight: tenant.weight ?? 1,
    limits: { tenant: tenant.limits, key: key.limits },
    allows: (model) => models === undefined || models.some((pattern) => matchesModel(pattern, model)),
  };
}
