import { type Clock, sleepOn, type Timer } from './clock.ts';

interface Pending {
  dueAt: number;
  callback: () => void;
}

/** A clock for tests: time stands still until `advance`. */
export class FakeClock implements Clock {
  private elapsedMs = 0;
  private readonly startAt: number;
  private readonly pending = new Set<Pending>();

  /** `startAt` is the first value of `now`, epoch milliseconds. */
  constructor(startAt = 1_700_000_000_000) {
    this.startAt = startAt;
  }

  /** How many callbacks are pending; 0 proves that no timer has leaked. */
  get timers(): number {
    return this.pending.size;
  }

  now(): number {
    return this.startAt + this.elapsedMs;
  }

  monotonic(): number {
    return this.elapsedMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const entry: Pending = { dueAt: this.elapsedMs + Math.max(0, delayMs), callback };
    this.pending.add(entry);
    const cancel = () => void this.pending.delete(entry);
    return { cancel, unref: () => {}, [Symbol.dispose]: cancel };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /**
   * Lets `durationMs` pass: runs the callbacks that become due, in order, and after each everything that it has woken.
   */
  async advance(durationMs: number): Promise<void> {
    const until = this.elapsedMs + durationMs;
    await settle();
    for (let next = this.nextDue(until); next; next = this.nextDue(until)) {
      this.pending.delete(next);
      this.elapsedMs = Math.max(this.elapsedMs, next.dueAt);
      next.callback();
      await settle();
    }
    this.elapsedMs = until;
  }

  /** Lets `durationMs` pass as if the process stood still: callbacks that became due meanwhile run late, at its end. */
  async stall(durationMs: number): Promise<void> {
    this.elapsedMs += durationMs;
    await this.advance(0);
  }

  private nextDue(until: number): Pending | undefined {
    let earliest: Pending | undefined;
    for (const entry of this.pending) {
      if (entry.dueAt <= until && (!earliest || entry.dueAt < earliest.dueAt)) earliest = entry;
    }
    return earliest;
  }
}

/** Waits for one turn of the event loop, in which resolved promises run their continuations. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
