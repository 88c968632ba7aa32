/**
 * Shares what there is a limited amount of, in order: whoever wants more than is left waits, and so does everybody
 * behind. Only one who wants more than there is gets it, once all others have ended.
 */
export class Turns {
  private readonly limit: number;
  private used = 0;
  private readonly waiting = new Set<{ amount: number; enter(): void }>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** What those have who were admitted. */
  get taken(): number {
    return this.used;
  }

  /** Whether whoever comes now has to wait. */
  get hasLine(): boolean {
    return this.waiting.size > 0;
  }

  /**
   * Waits for a turn; false if the signal aborted first. After a turn, call `end`, for parts of the amount or at once.
   */
  begin(signal: AbortSignal, amount = 1): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.beginAtOnce(amount)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const leave = () => {
        this.waiting.delete(waiter);
        resolve(false);
        this.admit();
      };
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const waiter = { amount, enter };
      this.waiting.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Begins a turn if that needs no wait; else false. */
  beginAtOnce(amount = 1): boolean {
    if (this.hasLine || !this.hasRoomFor(amount)) return false;
    this.used += amount;
    return true;
  }

  end(amount = 1): void {
    this.used -= amount;
    this.admit();
  }

  private admit(): void {
    for (const next of this.waiting) {
      if (!this.hasRoomFor(next.amount)) return;
      this.waiting.delete(next);
      this.used += next.amount;
      next.enter();
    }
  }

  private hasRoomFor(amount: number): boolean {
    return this.used + amount <= this.limit || this.used === 0;
  }
}
