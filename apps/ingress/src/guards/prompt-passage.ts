/** The share of the heap that large prompts on their way may have, as long as they arrived: they cost several times that. */
const heapShare = 1 / 25;

/**
 * Lets large prompts on their way to Redis a few at a time. A prompt that is kept costs as much memory as it is long. On
 * its way it is also a job, a command, and the text that is written: 27 of 1 MB at once ended a process of 128 MB.
 */
export class PromptPassage {
  private readonly bytes: number;
  private underWay = 0;
  private readonly waiting: { bytes: number; enter(): void }[] = [];

  constructor(heapBytes: number) {
    this.bytes = heapShare * heapBytes;
  }

  /** Runs `work`, which sends so many bytes of prompts, when it is their turn: at once if there is room. */
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

  /** One that is larger than the passage goes alone. */
  private hasRoom(bytes: number): boolean {
    return this.underWay === 0 || this.underWay + bytes <= this.bytes;
  }

  /** Whoever came first goes first. */
  private letIn(): void {
    for (let next = this.waiting[0]; next && this.hasRoom(next.bytes); next = this.waiting[0]) {
      this.waiting.shift();
      this.underWay += next.bytes;
      next.enter();
    }
  }
}
