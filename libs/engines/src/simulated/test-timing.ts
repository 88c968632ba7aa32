import type { Sleeper, Timing } from './timing.ts';

/** A clock that only a test moves. It starts at 1,700,000,000,000, so that stamps have their full width. */
export class VirtualTiming implements Timing {
  private time = 1_700_000_000_000;
  private readonly asleep = new Set<Sleeper>();

  now(): number {
    return this.time;
  }

  sleep(sleeper: Sleeper): void {
    this.asleep.add(sleeper);
  }

  yield(sleeper: Sleeper): void {
    sleeper.dueAt = this.time;
    this.asleep.add(sleeper);
  }

  forget(sleeper: Sleeper): void {
    this.asleep.delete(sleeper);
  }

  /** How many sleepers wait. */
  get waiting(): number {
    return this.asleep.size;
  }

  /** Lets this many milliseconds pass and wakes everyone who is due, in order. */
  advance(durationMs: number): void {
    const until = this.time + durationMs;
    for (let next = this.nextBefore(until); next; next = this.nextBefore(until)) {
      this.asleep.delete(next);
      this.time = Math.max(this.time, next.dueAt);
      next.wake();
    }
    this.time = until;
  }

  private nextBefore(until: number): Sleeper | undefined {
    const due = [...this.asleep].filter((sleeper) => sleeper.dueAt <= until);
    return due.sort((left, right) => left.dueAt - right.dueAt)[0];
  }
}
