import type { ScopedLimits } from '@sluice/tenancy';
import { type CheckList, checkList, type Hold } from './check-list.ts';
import type { Claim, PoolPolicy } from './claim.ts';
import { type AdmissionNames, countKey, policyKey, type Slot } from './names.ts';
import { bindLimits, type ScopedLimit } from './policy.ts';
import { poolCheck, tenantShareCheck } from './saturation.ts';

/** Who is asked for; a weight that is absent is 1. */
type Subject = Pick<Claim, 'tenant' | 'keyId' | 'limits'> & { readonly weight?: number };

/** What one caller is asked, whatever its claims are about. */
interface CallerChecks {
  readonly tenant: string;
  readonly keyId: string;
  readonly weight: number;
  readonly policies: readonly ScopedLimit[];
  /** Of the policies, in their order. */
  readonly list: CheckList;
  readonly pools: Map<string, PoolChecks>;
}

interface PoolChecks {
  readonly policy: PoolPolicy;
  readonly list: CheckList;
}

/**
 * Knows the checks of every caller. They are made once and not per request, because a cached caller keeps its limits
 * object.
 */
export class CheckBook {
  private readonly names: AdmissionNames;
  private readonly callers = new WeakMap<ScopedLimits, CallerChecks>();

  constructor(names: AdmissionNames) {
    this.names = names;
  }

  /** The policies of a caller with their checks. */
  ofCaller(subject: Subject): CallerChecks {
    const { tenant, keyId, weight = 1, limits } = subject;
    const known = this.callers.get(limits);
    if (known?.tenant === tenant && known.keyId === keyId && known.weight === weight) return known;
    const policies = bindLimits(limits);
    const slot = this.names.tenantSlot(tenant);
    const list = checkList(
      slot,
      policies.map((policy) => policyCheck(policy, slot, keyId)),
    );
    const checks = { tenant, keyId, weight, policies, list, pools: new Map() };
    this.callers.set(limits, checks);
    return checks;
  }

  /** Places of a pool, and those that the caller's tenant has in it. */
  ofPool({ tenant, weight, pools }: CallerChecks, pool: string, policy: PoolPolicy): CheckList {
    const known = pools.get(pool);
    if (known && isSame(known.policy, policy)) return known.list;
    const slot = this.names.poolSlot(pool);
    const list = checkList(slot, [
      { ...poolCheck(pool, policy, slot), key: countKey(slot, 'leases', 'all') },
      { ...tenantShareCheck(weight), key: countKey(slot, 'leases', `of:${encodeURIComponent(tenant)}`) },
    ]);
    pools.set(pool, { policy, list });
    return list;
  }
}

function policyCheck({ scope, limit }: ScopedLimit, slot: Slot, keyId: string): Hold {
  return { ...limit.check, key: policyKey(slot, limit.name, scope === 'key' ? keyId : undefined) };
}

/** A pool's slots change with its workers. */
function isSame(one: PoolPolicy, other: PoolPolicy): boolean {
  return (
    one.slots === other.slots &&
    one.waitBudgetMs === other.waitBudgetMs &&
    one.maxWaiting === other.maxWaiting
  );
}
