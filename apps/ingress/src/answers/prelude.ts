import { type GenerationEvent, isContent, isTerminal } from '@sluice/canonical';
import type { StreamEncoder } from '@sluice/formats';

/**
 * Holds back what comes before the first content of a stream that its client would see: the start with its id and the
 * prompt's usage, a server's own events, and what the client's format does not show (yet). While another model may
 * answer instead, the client must have none of it.
 */
export class Prelude {
  private readonly createEncoder: () => StreamEncoder;
  /** Tells what the client would see. What it writes goes nowhere. */
  private encoder: StreamEncoder;
  private readonly held = new Map<number, GenerationEvent[]>();
  /** Choices whose content has begun. */
  private readonly begun = new Set<number>();

  /** `createEncoder`: as for the stream itself. */
  constructor(createEncoder: () => StreamEncoder) {
    this.createEncoder = createEncoder;
    this.encoder = createEncoder();
  }

  /** Takes events of one choice, and returns those that the client may have now, in their order. */
  take(choice: number, events: GenerationEvent[]): GenerationEvent[] {
    if (this.begun.has(choice)) return events;
    // A start begins the answer, perhaps anew after an attempt that was lost.
    const before = events[0]?.type === 'start' ? [] : (this.held.get(choice) ?? []);
    const last = events[events.length - 1];
    const hasContent = this.shows(choice, events);
    if (!hasContent && !(last && isTerminal(last))) {
      before.push(...events);
      this.held.set(choice, before);
      return [];
    }
    this.held.delete(choice);
    this.begun.add(choice);
    // A failure before the content has a true status, unless something was written before.
    return !hasContent && last?.type === 'error' ? [last] : [...before, ...events];
  }

  /** Forgets what is held, because another model answers. */
  forget(): void {
    this.held.clear();
    this.encoder = this.createEncoder();
  }

  private shows(choice: number, events: readonly GenerationEvent[]): boolean {
    let hasContent = false;
    for (const event of events) {
      const text = this.encoder.push(event, choice);
      hasContent ||= text !== '' && isContent(event);
    }
    return hasContent;
  }
}
