/**
 * Shares what there is a limited amount of. Whoever comes is admitted as long as anything is left, so that the last one
 * may take more than that; the others wait in order.
 */
export class Turns {
  private free: number;
  private readonly limit: number;
  private readonly waiting = new Set<{ amount: number; enter(): void }>();

  constructor(limit: number) {
    this.limit = limit;
    this.free = limit;
  }

  /** What those have who were admitted. */
  get taken(): number {
    return this.limit - this.free;
  }

  /**
   * Waits for a turn; false if the signal aborted first. After a turn, call `end`, for parts of the amount or at once.
   */
  async begin(signal: AbortSignal, amount = 1): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.free > 0) {
      this.free -= amount;
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
      const waiter = { amount, enter };
      this.waiting.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  end(amount = 1): void {
    this.free += amount;
    for (const next of this.waiting) {
      if (this.free <= 0) return;
      this.waiting.delete(next);
      this.free -= next.amount;
      next.enter();
    }
  }
}
