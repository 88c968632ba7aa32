import { assertNever } from './assert.ts';
import { type ErrorInfo, SluiceError } from './error.ts';
import type { FinishEvent, GenerationEvent, StartEvent } from './event.ts';
import { type FormatId, mergeExtensions } from './extensions.ts';
import type { Generation } from './generation.ts';
import type { Json } from './json.ts';
import type { AssistantPart } from './request.ts';

/**
 * Deltas that are joined at once. Joined one by one, each leaves a link of a rope and its string for as long as the answer
 * lasts: half of all that the garbage collector copied under 256 paced streams, whose pauses took 12 ms and take 7.
 */
const joinedAtOnce = 16;

/**
 * Adds events up to what they say. It serves a single body (`generation`) and another attempt in the middle
 * of a stream (`content`, `outputTokens`), so that both see the very same answer.
 */
export class Collector {
  /** Sum of the tokens that deltas reported. */
  outputTokens = 0;
  /** Whether an event of the reader's own format has passed by, which it saw and which is in no content. */
  hasPassed = false;
  private readonly passing: FormatId | undefined;
  private start: StartEvent | undefined;
  private finish: FinishEvent | undefined;
  private error: ErrorInfo | undefined;
  private block = -1;
  private readonly parts: AssistantPart[] = [];
  /** What belongs at the end of the last part's text. */
  private readonly pieces: string[] = [];
  private readonly logprobs: Json[] = [];

  /** `passing`: the format of who reads the events as they come; absent where nobody does before the end. */
  constructor(passing?: FormatId) {
    this.passing = passing;
  }

  /** Whether nothing was said that could be seen. */
  get isEmpty(): boolean {
    return this.parts.length === 0 && !this.hasPassed;
  }

  get content(): AssistantPart[] {
    this.join();
    return this.parts;
  }

  push(event: GenerationEvent): void {
    switch (event.type) {
      case 'start':
        this.start = event;
        return;
      case 'text-delta': {
        this.say(event.block, 'text', event.text);
        // One by one, as all that a server says at once: there may be more than a stack holds.
        for (const each of event.logprobs ?? []) this.logprobs.push(each);
        this.outputTokens += event.tokens ?? 0;
        return;
      }
      case 'reasoning-delta': {
        this.say(event.block, 'reasoning', event.text);
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
        if (this.last?.type === 'tool-call') this.grow(event.arguments);
        this.outputTokens += event.tokens ?? 0;
        return;
      }
      case 'tool-call-end': {
        const part = this.last;
        if (part?.type === 'tool-call' && event.extensions) mergeExtensions(part, event.extensions);
        return;
      }
      case 'block-annotation': {
        const part = this.last;
        if (part && part.type !== 'opaque' && this.block === event.block)
          mergeExtensions(part, event.extensions);
        return;
      }
      case 'opaque':
        if (event.block === undefined) {
          this.hasPassed ||= event.format === this.passing && !saysNothing(event.value);
          return;
        }
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

  private get last(): AssistantPart | undefined {
    return this.parts[this.parts.length - 1];
  }

  private open(block: number, empty: AssistantPart): void {
    if (block === this.block && this.last) return;
    this.join();
    this.block = block;
    this.parts.push(empty);
  }

  private say(block: number, type: 'text' | 'reasoning', text: string): void {
    if (block !== this.block) this.open(block, { type, text: '' });
    if (this.last?.type === type) this.grow(text);
  }

  /** Adds to the text of the last part. */
  private grow(piece: string): void {
    this.pieces.push(piece);
    if (this.pieces.length === joinedAtOnce) this.join();
  }

  private join(): void {
    const part = this.last;
    if (!part || this.pieces.length === 0) return;
    const text = this.pieces.join('');
    this.pieces.length = 0;
    if (part.type === 'tool-call') part.arguments += text;
    else if (part.type === 'text' || part.type === 'reasoning') part.text += text;
  }
}

/** Adds a finished list of events up. Throws as `Collector.generation` does. */
export function collect(events: Iterable<GenerationEvent>): Generation {
  const collector = new Collector();
  for (const event of events) collector.push(event);
  return collector.generation();
}

/** Whether there are only empty texts and lists in it, which servers send in front of an answer; not looked for deeply. */
function saysNothing(value: Json, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return value === '' || value === null;
  return depth < 4 && Object.values(value).every((inner) => saysNothing(inner, depth + 1));
}
