/** A party may hold so many times as many turns as it leaves free: alone, three quarters of them. */
const mostOfFree = 3;

/**
 * Shares a number of turns among parties, so that none can keep the others waiting, however many it wants and however
 * long it takes. They come in order, except for parties that have their share.
 */
export class SharedTurns {
  private readonly limit: number;
  private used = 0;
  private readonly held = new Map<string, number>();
  private readonly waiting = new Set<{ party: string; enter(): void }>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Waits for a turn of the party; false if the signal aborted first. After a turn, call `end`. */
  async begin(party: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.mayBegin(party)) {
      this.take(party);
      return true;
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.waiting.delete(waiter);
        resolve(false);
      };
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const waiter = { party, enter };
      this.waiting.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  end(party: string): void {
    const held = (this.held.get(party) ?? 0) - 1;
    if (held > 0) this.held.set(party, held);
    else this.held.delete(party);
    this.used -= 1;
    for (const next of this.waiting) {
      if (this.used === this.limit) return;
      if (!this.mayBegin(next.party)) continue;
      this.waiting.delete(next);
      this.take(next.party);
      next.enter();
    }
  }

  /** Whoever holds nothing may take the last free turn. */
  private mayBegin(party: string): boolean {
    const held = this.held.get(party) ?? 0;
    const left = this.limit - this.used - 1;
    return held === 0 ? left >= 0 : held + 1 <= mostOfFree * left;
  }

  private take(party: string): void {
    this.held.set(party, (this.held.get(party) ?? 0) + 1);
    this.used += 1;
  }
}
