import type { ScopedLimits } from '@sluice/tenancy';
import { type CheckList, checkList, type Hold } from './check-list.ts';
import type { Claim, PoolPolicy } from './claim.ts';
import { type Book, countKey, policyKey, poolBook, tenantBook } from './names.ts';
import { bindLimits, type ScopedLimit } from './policy.ts';
import { poolCheck, tenantShareCheck } from './saturation.ts';

/** The caller in question; an absent weight is 1. */
type Subject = Pick<Claim, 'tenant' | 'keyId' | 'limits'> & { readonly weight?: number };

/** The checks of one caller, which do not depend on its claims. */
interface CallerChecks {
  readonly tenant: string;
  readonly keyId: string;
  readonly weight: number;
  readonly policies: readonly ScopedLimit[];
  /** The checks of the policies, in their order. */
  readonly list: CheckList;
  readonly pools: Map<string, PoolChecks>;
}

interface PoolChecks {
  readonly policy: PoolPolicy;
  readonly list: CheckList;
}

/**
 * Parses the policies of every caller and builds their checks once, and not per request. They are found by the caller's
 * limits, which are the same object for as long as the caller is cached.
 */
export class KnownChecks {
  private readonly callers = new WeakMap<ScopedLimits, CallerChecks>();

  /** The policies of a caller with their checks. */
  ofCaller(subject: Subject): CallerChecks {
    const { tenant, keyId, weight = 1, limits } = subject;
    const known = this.callers.get(limits);
    if (known?.tenant === tenant && known.keyId === keyId && known.weight === weight) return known;
    const policies = bindLimits(limits);
    const book = tenantBook(tenant);
    const list = checkList(
      book,
      policies.map((policy) => policyCheck(policy, book, keyId)),
    );
    const checks = { tenant, keyId, weight, policies, list, pools: new Map() };
    this.callers.set(limits, checks);
    return checks;
  }

  /** The checks of a pool: its places, and behind it those of the caller's tenant. */
  ofPool({ tenant, weight, pools }: CallerChecks, pool: string, policy: PoolPolicy): CheckList {
    const known = pools.get(pool);
    if (known && isSame(known.policy, policy)) return known.list;
    const book = poolBook(pool);
    const list = checkList(book, [
      { ...poolCheck(pool, policy, book), key: countKey(book, 'leases', 'all') },
      { ...tenantShareCheck(weight), key: countKey(book, 'leases', `of:${encodeURIComponent(tenant)}`) },
    ]);
    pools.set(pool, { policy, list });
    return list;
  }
}

function policyCheck({ scope, limit }: ScopedLimit, book: Book, keyId: string): Hold {
  return { ...limit.check, key: policyKey(book, limit.name, scope === 'key' ? keyId : undefined) };
}

/** Whether the policy is unchanged; the slots of a pool change with its workers. */
function isSame(one: PoolPolicy, other: PoolPolicy): boolean {
  return (
    one.slots === other.slots &&
    one.waitBudgetMs === other.waitBudgetMs &&
    one.maxWaiting === other.maxWaiting
  );
}
