import { type GenerationEvent, isContent, isTerminal } from '@sluice/canonical';

/**
 * Holds back what comes before the first content of a stream: the start with its id and the prompt's usage, and a
 * server's own events. While another model may answer instead, the client must have none of it.
 */
export class Prelude {
  private readonly held = new Map<number, GenerationEvent[]>();
  /** Choices whose content has begun. */
  private readonly begun = new Set<number>();

  /** Takes events of one choice, and returns those that the client may have now, in their order. */
  take(choice: number, events: GenerationEvent[]): GenerationEvent[] {
    if (this.begun.has(choice)) return events;
    const before = this.held.get(choice) ?? [];
    const last = events[events.length - 1];
    const hasContent = events.some(isContent);
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
  }
}
