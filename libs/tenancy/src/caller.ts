import { matchesModel } from './model-pattern.ts';
import type { Key, Limits, Tenant } from './record.ts';

/** Policies by scope. The scopes are counted separately: what a key uses counts for its tenant, too. */
export interface ScopedLimits {
  readonly tenant: Limits;
  readonly key: Limits;
}

/** Who calls, by a valid credential. */
export interface Caller {
  readonly tenant: string;
  readonly keyId: string;
  /** The tenant's share of a full pool, relative to a tenant of weight 1. */
  readonly weight: number;
  /** The same object for as long as the record is cached, so that derived values can be cached by it. */
  readonly limits: ScopedLimits;
  /** Whether the key may use a model of this name; a key without a list of models may use all. */
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
