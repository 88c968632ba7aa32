interface Happening {
  at: number;
  run(): void;
}

/** Continuations that one happening may need before the next: the longest chain of awaits in what is simulated. */
const turnsPerHappening = 6;

/** Simulated time: nothing passes but what is put on the calendar, and always in the same order. */
export class World {
  /** Milliseconds since the schedule began. */
  now = 0;
  /** Set by whatever settles a promise: its continuations run before the next happening. */
  hasContinuations = false;
  /** Latest first, so that the next one is taken from the end. */
  private readonly calendar: Happening[] = [];

  after(delayMs: number, run: () => void): void {
    const at = this.now + delayMs;
    const { calendar } = this;
    let low = 0;
    let high = calendar.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // Of two at the same instant the one that was put in first comes first.
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

  /** Lets time pass until `isOver` says so, or until `limitMs`. */
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
