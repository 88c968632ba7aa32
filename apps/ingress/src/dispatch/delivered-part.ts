import { Collector, type GenerationEvent, type Resume } from '@sluice/canonical';

/** The part of an answer that has been delivered, by one attempt or by several that each continued the one before. */
export class DeliveredPart {
  private readonly collector: Collector;
  private hasStarted = false;
  /** Block of the last tool call whose end was delivered. */
  private endedCall = -1;

  /** `readerFormat`: as in `AttemptFacts`. */
  constructor(readerFormat: string | undefined) {
    this.collector = new Collector(readerFormat);
  }

  /** Output tokens, as the engine counted them. */
  get outputTokens(): number {
    return this.collector.outputTokens;
  }

  /** Whether a new attempt could begin from the start without repeating anything. */
  get isEmpty(): boolean {
    return this.collector.isEmpty;
  }

  /** Whether it consists of text only, so that it can be continued as a prefix. */
  get isTextOnly(): boolean {
    const { hasSeparateEvent, content } = this.collector;
    return !hasSeparateEvent && content.every((part) => part.type === 'text');
  }

  add(events: readonly GenerationEvent[]): void {
    this.hasStarted ||= events[0]?.type === 'start';
    for (const event of events) {
      if (event.type === 'tool-call-end') this.endedCall = event.block;
      this.collector.push(event);
    }
  }

  /**
   * The events of a later attempt without those that it repeats: its start, and the end of a tool call that was already
   * complete when the attempt before was lost.
   */
  withoutRepeats(events: GenerationEvent[]): GenerationEvent[] {
    if (!this.hasStarted) return events;
    return events.filter((event) =>
      event.type === 'tool-call-end' ? event.block > this.endedCall : event.type !== 'start',
    );
  }

  /** What the next attempt continues; absent if it begins from the start. */
  resume(): Resume | undefined {
    const { content, outputTokens } = this.collector;
    return content.length === 0 ? undefined : { content: structuredClone(content), outputTokens };
  }
}
