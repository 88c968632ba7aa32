import type { GenerationEvent } from '@sluice/canonical';

/** Frames that may be held while one before them is missing; beyond it they are dropped and come again. */
const holdLimit = 512;

/** Puts the frames of one attempt in order: each is given out once, and only when all before it were. */
export class FrameOrder {
  private due = 0;
  private readonly held = new Map<number, GenerationEvent[]>();

  /** Sequence of the frame that comes next. */
  get expected(): number {
    return this.due;
  }

  /** Whether frames are held behind one that is missing. */
  get hasGap(): boolean {
    return this.held.size > 0;
  }

  /** Takes in a frame that is not older than the expected one. */
  put(sequence: number, events: GenerationEvent[]): void {
    if (sequence === this.due || this.held.size < holdLimit) this.held.set(sequence, events);
  }

  /** Gives out the frame that is due; absent while it is missing. */
  take(): GenerationEvent[] | undefined {
    const events = this.held.get(this.due);
    if (!events) return undefined;
    this.held.delete(this.due);
    this.due += 1;
    return events;
  }

  /** Lets go of what is held; it can be asked for again. */
  clear(): void {
    this.held.clear();
  }
}
