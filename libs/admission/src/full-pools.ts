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

interface FullPool {
  refusal: SluiceError;
  /** The smallest claim that was refused; smaller ones may fit. */
  jobs: number;
  /** Places of this process that were given back and not asked for since. */
  freed: number;
  probeAt: number;
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

  /** The refusal that a request for so many places would get now; absent where only asking can tell. */
  refusal(pool: string, jobs: number): SluiceError | undefined {
    const full = this.pools.get(pool);
    if (!full || jobs < full.jobs || jobs <= full.freed || this.now() >= full.probeAt) return undefined;
    return full.refusal;
  }

  /** Call it for a request that asks the pool or has just asked it, after `refusal` found nothing against it. */
  ask(pool: string, jobs: number): Permission {
    const full = this.pools.get(pool);
    if (!full || jobs < full.jobs) return 'open';
    if (jobs <= full.freed) {
      full.freed -= jobs;
      return 'freed';
    }
    full.probeAt = this.now() + holdMs;
    return 'probe';
  }

  /** The answer was no. */
  refused(pool: string, jobs: number, refusal: SluiceError): void {
    const full = this.pools.get(pool);
    if (full) {
      full.refusal = refusal;
      full.jobs = Math.min(full.jobs, jobs);
    } else this.pools.set(pool, { refusal, jobs, freed: 0, probeAt: this.now() + holdMs });
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
}
