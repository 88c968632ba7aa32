import type { Sequence } from './library.ts';

/** The slots for generations. If all are taken, callers wait in line. */
export class Slots {
  private readonly free: Sequence[];
  private readonly waiters: ((sequence: Sequence) => void)[] = [];

  constructor(sequences: readonly Sequence[]) {
    this.free = [...sequences];
  }

  /**
   * Takes the free slot that has already evaluated most of this prompt, so that the next turn of a conversation goes
   * where the last one was. Absent if the signal aborts before a slot is free.
   */
  take(tokens: readonly number[], signal: AbortSignal): Promise<Sequence | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const best = this.closest(tokens);
    if (best) {
      this.free.splice(this.free.indexOf(best), 1);
      return Promise.resolve(best);
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.waiters.splice(this.waiters.indexOf(enter), 1);
        resolve(undefined);
      };
      const enter = (sequence: Sequence) => {
        signal.removeEventListener('abort', leave);
        resolve(sequence);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiters.push(enter);
    });
  }

  give(sequence: Sequence): void {
    const enter = this.waiters.shift();
    if (enter) enter(sequence);
    else this.free.push(sequence);
  }

  private closest(tokens: readonly number[]): Sequence | undefined {
    let best: Sequence | undefined;
    let most = -1;
    // Among slots that share equally much, the first is the one that has been idle longest.
    for (const sequence of this.free) {
      const shared = sequence.compareContextTokens(tokens).firstDifferentIndex;
      if (shared <= most) continue;
      most = shared;
      best = sequence;
    }
    return best;
  }
}
