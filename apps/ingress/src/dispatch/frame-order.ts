import type { GenerationEvent } from '@sluice/canonical';

/** Frames that are held while an earlier one is missing. More than these are dropped, and come again with a resend. */
const holdLimit = 512;

/** Puts the frames of one attempt in order: each is given out once, after all before it. */
export class FrameOrder {
  private due = 0;
  /** The frame that is due, once it has arrived. */
  private next: GenerationEvent[] | undefined;
  /** Frames after a missing one; absent without a gap, which most attempts never have. */
  private held: Map<number, GenerationEvent[]> | undefined;

  /** Sequence number of the frame that is due. */
  get expected(): number {
    return this.due;
  }

  /** Whether frames are held after a missing one. */
  get hasGap(): boolean {
    return this.held !== undefined;
  }

  /** Takes in a frame. Its sequence number must not be below `expected`. */
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

  /** Drops the frames that are held; they can be asked for again. */
  clear(): void {
    this.next = undefined;
    this.held = undefined;
  }
}
