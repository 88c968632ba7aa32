/** The share of the heap that the bodies of prompts on their way may take together; each costs several times that. */
const heapShare = 1 / 25;

/**
 * Lets a few large prompts at a time on their way to Redis. A kept prompt takes as much memory as it has bytes. On its
 * way it is also a job, a command and the text that is written: 27 of 1 MB at once ended a process of 128 MB.
 * `PromptRoom` admits ten times as much as the passage does, and Redis is given up within a second, so a wait is one of
 * seconds at most. Who leaves meanwhile is forgotten at once: `PromptRoom` gives that memory to others.
 */
export class PromptPassage {
  private readonly bytes: number;
  private underWay = 0;
  private readonly waiting = new Set<{ bytes: number; enter(): void }>();

  constructor(heapBytes: number) {
    this.bytes = heapShare * heapBytes;
  }

  /**
   * Runs `work`, which sends this many bytes of prompts, when it is its turn; if there is room, at once. Not at all if
   * the signal aborts before.
   */
  async run(bytes: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    if (this.waiting.size === 0 && this.hasRoom(bytes)) this.underWay += bytes;
    else if (!(await this.isLetIn(bytes, signal))) return;
    try {
      await work();
    } finally {
      this.underWay -= bytes;
      this.letIn();
    }
  }

  /** Waits; false if the signal aborted first. */
  private isLetIn(bytes: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const waiter = { bytes, enter };
      const leave = (): void => {
        this.waiting.delete(waiter);
        resolve(false);
        // It may have been too large for what is left, in which the next ones fit.
        this.letIn();
      };
      this.waiting.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** A prompt that is larger than the passage goes alone. */
  private hasRoom(bytes: number): boolean {
    return this.underWay === 0 || this.underWay + bytes <= this.bytes;
  }

  /** Lets in those for which there is room, in the order in which they came. */
  private letIn(): void {
    for (const next of this.waiting) {
      if (!this.hasRoom(next.bytes)) return;
      this.waiting.delete(next);
      this.underWay += next.bytes;
      next.enter();
    }
  }
}
