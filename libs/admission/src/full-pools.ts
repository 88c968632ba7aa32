import type { SluiceError } from '@sluice/canonical';

/** How long a pool that refused is taken to be still full. After that, the next request asks Redis again. */
const holdMs = 10;
/**
 * How long after that a refusal still tells anything. In a flood a probe renews it sooner; once the flood is over, the
 * pool may long be empty, and one probe must not keep the others of a burst out.
 */
const memoryMs = 100;

/**
 * Why a request may ask Redis.
 * - `open`: the pool is not known to be full.
 * - `freed`: the pool was full, but this process has given back a place since.
 * - `probe`: the pool was full a while ago, and this request finds out whether it still is.
 */
export type Permission = 'open' | 'freed' | 'probe';

/** A refusal that is remembered. */
interface Full {
  /** What the smallest refused claim was told, since a larger one may have to wait longer, or in vain. */
  refusal: SluiceError;
  /** The size of that claim; smaller ones may fit. */
  jobs: number;
  probeAt: number;
}

interface FullPool {
  /** The refusal that every tenant would get. */
  everyone: Full | undefined;
  /** The refusals of tenants that have had their share, while the pool still admits others. */
  readonly tenants: Map<string, Full>;
  /** Places that this process has given back, less those that its requests have asked for since. */
  freed: number;
}

/**
 * Remembers for a moment which pools have refused, so that a flood is refused without asking Redis. It never admits
 * anything by itself, so no pool can hold too many. Places that other processes give back are noticed up to 10 ms late;
 * the requests that wait in the pool keep its slots busy meanwhile.
 */
export class FullPools {
  private readonly pools = new Map<string, FullPool>();
  private readonly now: () => number;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** The refusal that a tenant's request for `jobs` places would get now; absent if only Redis can tell. */
  refusal(pool: string, tenant: string, jobs: number): SluiceError | undefined {
    const full = this.pools.get(pool);
    if (!full || jobs <= full.freed) return undefined;
    const theirs = full.tenants.get(tenant);
    if (this.isSure(full.everyone, jobs)) return full.everyone?.refusal;
    return this.isSure(theirs, jobs) ? theirs?.refusal : undefined;
  }

  /** Notes a request that asks Redis, or has just asked it, after `refusal` found nothing against it. */
  ask(pool: string, tenant: string, jobs: number): Permission {
    const full = this.pools.get(pool);
    if (!full) return 'open';
    const against = [full.everyone, full.tenants.get(tenant)].filter(
      (each) => each && jobs >= each.jobs && !this.isOver(each),
    );
    if (against.length === 0) return 'open';
    if (jobs <= full.freed) {
      full.freed -= jobs;
      return 'freed';
    }
    for (const each of against) if (each) each.probeAt = this.now() + holdMs;
    return 'probe';
  }

  /** Notes a refusal: of this tenant, or of everyone if `tenant` is absent. */
  refused(pool: string, jobs: number, refusal: SluiceError, tenant?: string): void {
    let full = this.pools.get(pool);
    if (!full) {
      full = { everyone: undefined, tenants: new Map(), freed: 0 };
      this.pools.set(pool, full);
    }
    const before = tenant === undefined ? full.everyone : full.tenants.get(tenant);
    if (before && !this.isOver(before)) {
      if (jobs <= before.jobs) Object.assign(before, { refusal, jobs });
      return;
    }
    const now = { refusal, jobs, probeAt: this.now() + holdMs };
    if (tenant === undefined) full.everyone = now;
    else full.tenants.set(tenant, now);
  }

  /** Notes an admission. Unless a freed place explains it, the pool is open again. */
  admitted(pool: string, permission: Permission): void {
    if (permission !== 'freed') this.pools.delete(pool);
  }

  /** Notes that `jobs` places were given back. */
  freed(pool: string, jobs: number): void {
    const full = this.pools.get(pool);
    if (full) full.freed += jobs;
  }

  private isOver({ probeAt }: Full): boolean {
    return this.now() >= probeAt + memoryMs;
  }

  private isSure(full: Full | undefined, jobs: number): boolean {
    return full !== undefined && jobs >= full.jobs && this.now() < full.probeAt;
  }
}
