import { assertNever } from './assert.ts';
import { type ErrorInfo, SluiceError } from './error.ts';
import type { FinishEvent, GenerationEvent, StartEvent } from './event.ts';
import { mergeExtensions } from './extensions.ts';
import type { Generation } from './generation.ts';
import type { Json } from './json.ts';
import type { AssistantPart } from './request.ts';

/**
 * Adds events up to what they say. It serves a single body (`generation`) and another attempt in the middle
 * of a stream (`content`, `outputTokens`), so that both see the very same answer.
 */
export class Collector {
  readonly content: AssistantPart[] = [];
  /** Sum of the tokens that deltas reported. */
  outputTokens = 0;
  private start: StartEvent | undefined;
  private finish: FinishEvent | undefined;
  private error: ErrorInfo | undefined;
  private block = -1;
  private readonly logprobs: Json[] = [];

  push(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        this.start = event;
        return;
      case 'text-delta': {
        const part = this.open(event.block, { type: 'text', text: '' });
        if (part.type === 'text') part.text += event.text;
        if (event.logprobs) this.logprobs.push(...event.logprobs);
        this.outputTokens += event.tokens ?? 0;
        return;
      }
      case 'reasoning-delta': {
        const part = this.open(event.block, { type: 'reasoning', text: '' });
        if (part.type === 'reasoning') part.text += event.text;
        this.outputTokens += event.tokens ?? 0;
        return;
      }
      case 'tool-call-start': {
        const { id, name, extensions } = event;
        this.open(event.block, {
          type: 'tool-call',
          id,
          name,
          arguments: '',
          ...(extensions && { extensions }),
        });
        return;
      }
      case 'tool-call-delta': {
        const part = this.content[this.content.length - 1];
        if (part?.type === 'tool-call') part.arguments += event.arguments;
        this.outputTokens += event.tokens ?? 0;
        return;
      }
      case 'tool-call-end': {
        const part = this.content[this.content.length - 1];
        if (part?.type === 'tool-call' && event.extensions) mergeExtensions(part, event.extensions);
        return;
      }
      case 'block-annotation': {
        const part = this.content[this.content.length - 1];
        if (part && part.type !== 'opaque' && this.block === event.block)
          mergeExtensions(part, event.extensions);
        return;
      }
      case 'opaque':
        if (event.block === undefined) return;
        this.open(event.block, { type: 'opaque', format: event.format, value: event.value });
        return;
      case 'finish':
        this.finish = event;
        return;
      case 'error':
        this.error = event.error;
        return;
      default:
        assertNever(event);
    }
  }

  /** The whole answer. Throws what the stream ended with, or `upstream-failed` when it never ended. */
  generation(): Generation {
    if (this.error) {
      const { kind, message, ...options } = this.error;
      throw new SluiceError(kind, message, options);
    }
    if (!this.start || !this.finish) throw new SluiceError('upstream-failed', 'the generation has no end');
    const { id, model, createdAt, extensions } = this.start;
    return {
      id,
      model,
      createdAt,
      content: this.content,
      ...(this.logprobs.length > 0 && { logprobs: this.logprobs }),
      ...(extensions && { extensions }),
      finish: this.finish,
    };
  }

  private open(block: number, empty: AssistantPart): AssistantPart {
    const current = this.content[this.content.length - 1];
    if (block === this.block && current) return current;
    this.block = block;
    this.content.push(empty);
    return empty;
  }
}

/** Adds a finished list of events up. Throws as `Collector.generation` does. */
export function collect(events: Iterable<GenerationEvent>): Generation {
  const collector = new Collector();
  for (const event of events) collector.push(event);
  return collector.generation();
}
