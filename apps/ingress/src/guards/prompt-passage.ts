import { Turns } from '@sluice/runtime';

/** The share of the heap that the bodies of prompts on their way may take together; each costs several times that. */
const heapShare = 1 / 25;

/**
 * Lets a few large prompts at a time on their way to Redis. A kept prompt takes as much memory as it has bytes. On its
 * way it is also a job, a command and the text that is written: 27 of 1 MB at once ended a process of 128 MB.
 * `PromptRoom` admits ten times as much as the passage does, and Redis is given up within a second, so a wait is one of
 * seconds at most. Who leaves meanwhile is forgotten at once: `PromptRoom` gives that memory to others.
 */
export class PromptPassage {
  private readonly turns: Turns;

  constructor(heapBytes: number) {
    this.turns = new Turns(heapShare * heapBytes);
  }

  /**
   * Runs `work`, which sends this many bytes of prompts, when it is its turn; if there is room, at once. Not at all if
   * the signal aborts before.
   */
  async run(bytes: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    if (!this.turns.beginAtOnce(bytes) && !(await this.turns.begin(signal, bytes))) return;
    try {
      // Who left at the same moment as another, whose room let it in, would not be noticed later.
      if (!signal.aborted) await work();
    } finally {
      this.turns.end(bytes);
    }
  }
}
