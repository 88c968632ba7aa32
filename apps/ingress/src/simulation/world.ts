interface Happening {
  at: number;
  run(): void;
}

/**
 * Turns of continuations that one happening may need before the next: the longest chain of awaits in the simulated
 * code.
 */
const turnsPerHappening = 6;

/** Simulated time: only what is put on the calendar happens, and always in the same order. */
export class World {
  /** Milliseconds since the schedule began. */
  now = 0;
  /** Must be set by whatever settles a promise, so that its continuations run before the next happening. */
  hasContinuations = false;
  /** The latest comes first, so that the next happening can be taken from the end. */
  private readonly calendar: Happening[] = [];

  after(delayMs: number, run: () => void): void {
    const at = this.now + delayMs;
    const { calendar } = this;
    let low = 0;
    let high = calendar.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // Of two happenings at the same time, the one that was added first comes first.
      if ((calendar[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    calendar.splice(low, 0, { at, run });
  }

  /** Runs `callback` again and again until the returned function is called. */
  every(intervalMs: number, callback: () => void): () => void {
    let isStopped = false;
    const next = (): void => {
      if (isStopped) return;
      callback();
      this.after(intervalMs, next);
    };
    this.after(intervalMs, next);
    return () => {
      isStopped = true;
    };
  }

  /** Lets time pass until `isOver` returns true, or until `limitMs`. */
  async run(limitMs: number, isOver: () => boolean): Promise<void> {
    await this.settle();
    for (let next = this.calendar.pop(); next && next.at <= limitMs; next = this.calendar.pop()) {
      this.now = next.at;
      next.run();
      if (this.hasContinuations) await this.settle();
      if (isOver()) return;
    }
  }

  private async settle(): Promise<void> {
    this.hasContinuations = false;
    for (let turn = 0; turn < turnsPerHappening; turn += 1) await undefined;
  }
}
