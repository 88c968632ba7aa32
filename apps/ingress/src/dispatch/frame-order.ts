import type { GenerationEvent } from '@sluice/canonical';

/** Frames that may be held while one before them is missing; beyond it they are dropped and come again. */
const holdLimit = 512;

/** Puts the frames of one attempt in order: each is given out once, and only when all before it were. */
export class FrameOrder {
  private due = 0;
  /** The frame that is due, once it is here. */
  private next: GenerationEvent[] | undefined;
  /** Frames behind one that is missing; absent until the first gap, which most attempts never have. */
  private held: Map<number, GenerationEvent[]> | undefined;

  /** Sequence of the frame that comes next. */
  get expected(): number {
    return this.due;
  }

  /** Whether frames are held behind one that is missing. */
  get hasGap(): boolean {
    return this.held !== undefined;
  }

  /** Takes in a frame that is not older than the expected one. */
  put(sequence: number, events: GenerationEvent[]): void {
    if (sequence === this.due) {
      this.next = events;
      return;
    }
    this.held ??= new Map();
    if (this.held.size < holdLimit) this.held.set(sequence, events);
  }

  /** Gives out the frame that is due; absent while it is missing. */
  take(): GenerationEvent[] | undefined {
    const events = this.next;
    if (!events) return undefined;
    this.due += 1;
    this.next = this.held?.get(this.due);
    this.held?.delete(this.due);
    if (this.held?.size === 0) this.held = undefined;
    return events;
  }

  /** Lets go of what is held; it can be asked for again. */
  clear(): void {
    this.next = undefined;
    this.held = undefined;
  }
}
