import type { Ledger, Settlement } from './ledger.ts';

/** Settlements that are repeated at a time, so that Redis serves others in between. */
const batchSize = 200;
/** Settlements that are kept while Redis is away. Beyond that, the oldest are left to the rule for expired leases. */
const mostKept = 100_000;

/** The settlements of this process that Redis has not taken, so that they can be repeated. */
export class Unsettled {
  private readonly ledger: Pick<Ledger, 'settle'>;
  private readonly settlements = new Map<string, Settlement>();

  constructor(ledger: Pick<Ledger, 'settle'>) {
    this.ledger = ledger;
  }

  get count(): number {
    return this.settlements.size;
  }

  /** Settles, or keeps the settlement for the next `repeat`. Never rejects. */
  async settle(settlement: Settlement): Promise<void> {
    try {
      await this.ledger.settle(settlement);
    } catch {
      const [oldest] = this.settlements.keys();
      if (this.settlements.size >= mostKept && oldest !== undefined) this.settlements.delete(oldest);
      this.settlements.set(`${settlement.books.join(' ')} ${settlement.requestId}`, settlement);
    }
  }

  /** Repeats what is kept. Never rejects. */
  async repeat(): Promise<void> {
    const kept = [...this.settlements];
    for (let from = 0; from < kept.length; from += batchSize) {
      const batch = kept.slice(from, from + batchSize);
      const settled = await Promise.all(batch.map(([name, settlement]) => this.retry(name, settlement)));
      // Redis is away, or the master of all of these. They have been moved behind the others, so the next call begins
      // with those.
      if (!settled.includes(true)) return;
    }
  }

  /** Returns whether Redis has taken it this time. If not, it is moved behind the others. */
  private async retry(name: string, settlement: Settlement): Promise<boolean> {
    const isSettled = await this.ledger.settle(settlement).then(
      () => true,
      () => false,
    );
    this.settlements.delete(name);
    if (!isSettled) this.settlements.set(name, settlement);
    return isSettled;
  }
}
