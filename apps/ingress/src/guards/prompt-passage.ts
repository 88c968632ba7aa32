/** The share of the heap that the bodies of prompts on their way may take together; each costs several times that. */
const heapShare = 1 / 25;

/**
 * Lets a few large prompts at a time on their way to Redis. A kept prompt takes as much memory as it has bytes. On its
 * way it is also a job, a command and the text that is written: 27 of 1 MB at once ended a process of 128 MB.
 * `PromptRoom` admits ten times as much as the passage does, and Redis is given up within a second, so a wait is one of
 * seconds at most. A client that leaves meanwhile is passed over by `work`.
 */
export class PromptPassage {
  private readonly bytes: number;
  private underWay = 0;
  private readonly waiting: { bytes: number; enter(): void }[] = [];

  constructor(heapBytes: number) {
    this.bytes = heapShare * heapBytes;
  }

  /** Runs `work`, which sends this many bytes of prompts, when it is its turn; if there is room, at once. */
  async run(bytes: number, work: () => Promise<void>): Promise<void> {
    if (this.waiting.length === 0 && this.hasRoom(bytes)) this.underWay += bytes;
    else await new Promise<void>((enter) => this.waiting.push({ bytes, enter }));
    try {
      await work();
    } finally {
      this.underWay -= bytes;
      this.letIn();
    }
  }

  /** A prompt that is larger than the passage goes alone. */
  private hasRoom(bytes: number): boolean {
    return this.underWay === 0 || this.underWay + bytes <= this.bytes;
  }

  /** Lets in those for which there is room, in the order in which they came. */
  private letIn(): void {
    for (let next = this.waiting[0]; next && this.hasRoom(next.bytes); next = this.waiting[0]) {
      this.waiting.shift();
      this.underWay += next.bytes;
      next.enter();
    }
  }
}
