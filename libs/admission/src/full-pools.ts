import type { SluiceError } from '@sluice/canonical';

/** How long it is taken for granted that a pool is still full; then the next request asks again. */
const holdMs = 10;

/**
 * How a request may go on.
 * - `open`: nothing is known against it.
 * - `freed`: the pool was full, but a place of this process has been given back since.
 * - `probe`: the pool was full a while ago, and this request finds out whether it still is.
 */
export type Permission = 'open' | 'freed' | 'probe';

interface Full {
  refusal: SluiceError;
  /** The smallest claim that was refused; smaller ones may fit. */
  jobs: number;
  probeAt: number;
}

interface FullPool {
  /** What every tenant would be told. */
  everyone: Full | undefined;
  /** What those would be told that have had their share of a pool in which others may still pass. */
  readonly tenants: Map<string, Full>;
  /** Places of this process that were given back and not asked for since. */
  freed: number;
}

/**
 * Remembers for a moment which pools have refused, so that a flood is refused without asking Redis. It admits
 * nothing by itself, so no pool ever holds too many; places that other processes give back are noticed up to
 * 10 ms late, which the waiting room of the pool bridges.
 */
export class FullPools {
  private readonly pools = new Map<string, FullPool>();
  private readonly now: () => number;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** The refusal that a tenant's request for so many places would get now; absent where only asking can tell. */
  refusal(pool: string, tenant: string, jobs: number): SluiceError | undefined {
    const full = this.pools.get(pool);
    if (!full || jobs <= full.freed) return undefined;
    const theirs = full.tenants.get(tenant);
    if (this.isSure(full.everyone, jobs)) return full.everyone?.refusal;
    return this.isSure(theirs, jobs) ? theirs?.refusal : undefined;
  }

  /** Call it for a request that asks the pool or has just asked it, after `refusal` found nothing against it. */
  ask(pool: string, tenant: string, jobs: number): Permission {
    const full = this.pools.get(pool);
    if (!full) return 'open';
    const against = [full.everyone, full.tenants.get(tenant)].filter((each) => each && jobs >= each.jobs);
    if (against.length === 0) return 'open';
    if (jobs <= full.freed) {
      full.freed -= jobs;
      return 'freed';
    }
    for (const each of against) if (each) each.probeAt = this.now() + holdMs;
    return 'probe';
  }

  /** The answer was no: to this tenant, and where that is absent to everyone. */
  refused(pool: string, jobs: number, refusal: SluiceError, tenant?: string): void {
    let full = this.pools.get(pool);
    if (!full) {
      full = { everyone: undefined, tenants: new Map(), freed: 0 };
      this.pools.set(pool, full);
    }
    const before = tenant === undefined ? full.everyone : full.tenants.get(tenant);
    if (before) {
      before.refusal = refusal;
      before.jobs = Math.min(before.jobs, jobs);
      return;
    }
    const now = { refusal, jobs, probeAt: this.now() + holdMs };
    if (tenant === undefined) full.everyone = now;
    else full.tenants.set(tenant, now);
  }

  /** The answer was yes: who had no reason to expect it has found the pool open again. */
  admitted(pool: string, permission: Permission): void {
    if (permission !== 'freed') this.pools.delete(pool);
  }

  /** So many places were given back. */
  freed(pool: string, jobs: number): void {
    const full = this.pools.get(pool);
    if (full) full.freed += jobs;
  }

  private isSure(full: Full | undefined, jobs: number): boolean {
    return full !== undefined && jobs >= full.jobs && this.now() < full.probeAt;
  }
}
