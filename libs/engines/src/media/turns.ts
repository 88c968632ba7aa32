/** Admits a limited number at a time; the others wait in order. */
export class Turns {
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(limit: number) {
    this.free = limit;
  }

  /** Waits for a turn; false if the signal aborted first. After a turn, call `end`. */
  async begin(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.free > 0) {
      this.free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.waiting.delete(enter);
        resolve(false);
      };
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      this.waiting.add(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  end(): void {
    const [next] = this.waiting;
    if (!next) {
      this.free += 1;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
