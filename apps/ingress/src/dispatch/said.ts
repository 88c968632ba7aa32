import { Collector, type GenerationEvent, type Resume } from '@sluice/canonical';

/** What of an answer was handed to the client's side, by one attempt or by several of which each went on with the last. */
export class Said {
  private readonly collector: Collector;
  private hasStarted = false;
  /** Block of the last tool call whose end was said. */
  private endedCall = -1;

  /** `passing`: as in `AttemptFacts`. */
  constructor(passing: string | undefined) {
    this.collector = new Collector(passing);
  }

  /** As the engine counted them. */
  get outputTokens(): number {
    return this.collector.outputTokens;
  }

  /** Whether an attempt that says all from its start on would say nothing twice. */
  get isEmpty(): boolean {
    return this.collector.isEmpty;
  }

  get isTextAlone(): boolean {
    return !this.collector.hasPassed && this.collector.content.every((part) => part.type === 'text');
  }

  add(events: readonly GenerationEvent[]): void {
    this.hasStarted ||= events[0]?.type === 'start';
    for (const event of events) {
      if (event.type === 'tool-call-end') this.endedCall = event.block;
      this.collector.push(event);
    }
  }

  /** A later attempt says its start again, and the end of a call that was complete when the last one was lost. */
  withoutRepeats(events: GenerationEvent[]): GenerationEvent[] {
    if (!this.hasStarted) return events;
    return events.filter((event) =>
      event.type === 'tool-call-end' ? event.block > this.endedCall : event.type !== 'start',
    );
  }

  /** What the next attempt goes on with; absent where it begins. */
  resume(): Resume | undefined {
    const { content, outputTokens } = this.collector;
    return content.length === 0 ? undefined : { content: structuredClone(content), outputTokens };
  }
}
