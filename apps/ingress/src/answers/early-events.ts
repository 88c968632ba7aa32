import type { GenerationEvent } from '@sluice/canonical';

/** Events of one choice. */
export type ChoiceEvents = readonly [choice: number, events: GenerationEvent[]];

/**
 * What comes before the reply of admission. It waits for that, because the head of an answer tells the rates. Nothing
 * waits behind an error, since that ends the answer.
 */
export class EarlyEvents {
  private waiting: ChoiceEvents[] = [];

  /** Takes events, and returns those that need not wait any more, in their order. */
  take(choice: number, events: GenerationEvent[]): ChoiceEvents[] {
    // A start begins the answer, perhaps anew after an attempt that was lost.
    if (events[0]?.type === 'start') this.waiting = this.waiting.filter(([its]) => its !== choice);
    this.waiting.push([choice, events]);
    return events[events.length - 1]?.type === 'error' ? this.release() : [];
  }

  /** Returns all that waits. */
  release(): ChoiceEvents[] {
    return this.waiting.splice(0);
  }
}
