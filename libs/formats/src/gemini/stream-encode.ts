import {
  type AssistantPart,
  assertNever,
  type ErrorEvent,
  type FinishEvent,
  type GenerationEvent,
  type JsonObject,
  mergeExtensions,
  type OpaqueEvent,
  type StartEvent,
  type TextDelta,
  type ToolCallPart,
  type Usage,
  usageAtStart,
} from '@sluice/canonical';
import type { ClientCall, StreamEncoder } from '../codec.ts';
import { encodeErrorBody } from './error.ts';
import { encodeFinishReason, isCutOff } from './finish.ts';
import { createFraming, type Framing, stringifyLine } from './framing.ts';
import { FORMAT, keptOn, nestedIn } from './kept.ts';
import { encodeLogprobs } from './logprobs.ts';
import { type ReplyFacts, replyFacts } from './request.ts';
import { emptyPart, encodeAnswerPart } from './response.ts';
import { addUsage, encodeUsage } from './usage.ts';

const textHead = '{"candidates":[{"content":{"role":"model","parts":[{"text":';
const textTail = '}]}';
const thoughtTail = ',"thought":true}]}';

/** Encodes a stream of chunks, framed as the call asks. */
export function createStreamEncoder(call: ClientCall): StreamEncoder {
  return new GeminiStreamEncoder(call);
}

/** What one choice remembers between its events. */
interface Choice {
  /** The rest of a chunk after its content, from the index on. */
  tail: string;
  /** The call that is being written. Parts are written whole, so it waits for its end and for what is added to it. */
  call: ToolCallPart | undefined;
  /** The kind of block that an annotation would belong to. */
  open: 'text' | 'reasoning' | 'other';
  hasContent: boolean;
  hasMalformedCall: boolean;
  isDone: boolean;
}

class GeminiStreamEncoder implements StreamEncoder {
  private readonly call: ClientCall;
  private readonly facts: ReplyFacts;
  private readonly framing: Framing;
  private readonly choices: Choice[];
  private id = '';
  /** The usage so far, of all choices: the prompt from the start, outputs from every finish. */
  private usage: Usage = {};
  private finished: Usage | undefined;
  private isOver = false;

  constructor(call: ClientCall) {
    this.call = call;
    this.facts = replyFacts(call);
    this.framing = createFraming(this.facts.sse);
    this.choices = Array.from({ length: call.choices }, (_, index) => newChoice(index));
  }

  get contentType(): string {
    return this.framing.contentType;
  }

  push(event: GenerationEvent, choice: number): string {
    const state = this.choices[choice];
    if (!state || state.isDone || this.isOver) return '';
    if (event.type === 'text-delta' && !state.call && !event.logprobs)
      return this.writeText(event.text, state);
    if (event.type === 'block-annotation' && state.call) {
      mergeExtensions(state.call, event.extensions);
      return '';
    }
    if (event.type === 'tool-call-delta') {
      if (state.call) state.call.arguments += event.arguments;
      return '';
    }
    if (event.type === 'tool-call-end') {
      if (state.call && event.extensions) mergeExtensions(state.call, event.extensions);
      return '';
    }
    // An event without a block does not end the call that it interrupts.
    if (event.type === 'opaque' && event.block === undefined) return this.passBy(event);
    // An incomplete call is dropped: with half of its arguments it would be another call.
    if (event.type === 'error') return this.fail(event);
    if (event.type === 'finish' && isCutOff(state.call, event)) state.call = undefined;
    return this.flushCall(state, choice) + this.write(event, state, choice);
  }

  keepAlive(): string {
    return this.isOver ? '' : this.framing.keepAlive();
  }

  private write(
    event: Exclude<GenerationEvent, { type: 'tool-call-delta' | 'tool-call-end' | 'error' }>,
    state: Choice,
    choice: number,
  ): string {
    switch (event.type) {
      case 'start':
        return this.start(event);
      case 'text-delta':
        return event.logprobs
          ? this.writeScored(event, event.logprobs, state, choice)
          : this.writeText(event.text, state);
      case 'reasoning-delta':
        return this.writeThought(event.text, state);
      case 'tool-call-start': {
        const { id, name, extensions } = event;
        state.call = { type: 'tool-call', id, name, arguments: '', ...(extensions && { extensions }) };
        state.open = 'other';
        return '';
      }
      case 'block-annotation':
        return this.annotate(event.extensions[FORMAT] ?? {}, state, choice);
      case 'opaque':
        if (event.format !== FORMAT) return '';
        return this.writePart({ type: 'opaque', format: FORMAT, value: event.value }, state, choice);
      case 'finish':
        return this.finish(event, state, choice);
      default:
        return assertNever(event);
    }
  }

  private passBy({ format, value }: OpaqueEvent): string {
    return format === FORMAT ? this.framing.frame(stringifyLine(value)) : '';
  }

  private fail({ error }: ErrorEvent): string {
    this.isOver = true;
    return this.framing.frame(stringifyLine(encodeErrorBody(error))) + this.framing.close();
  }

  private start(event: StartEvent): string {
    if (this.id === '') this.id = event.id;
    if (this.usage.inputTokens === undefined) this.usage = { ...usageAtStart(event), ...this.usage };
    this.writeTails();
    return '';
  }

  /** Rewrites the end of every chunk, which changes only when the usage does. */
  private writeTails(): void {
    const { usageMetadata, ...beside } = this.besides();
    const usage = Object.keys(usageMetadata).length > 0 ? { usageMetadata } : {};
    const rest = stringifyLine({ ...usage, ...beside }).slice(1);
    for (const [index, choice] of this.choices.entries()) choice.tail = `,"index":${index}}],${rest}`;
  }

  private besides(): { usageMetadata: JsonObject; modelVersion: string; responseId: string } {
    return {
      usageMetadata: encodeUsage(this.usage, false),
      modelVersion: this.call.model,
      responseId: this.id,
    };
  }

  // The hot path: one chunk per token, without an object to stringify.
  private writeText(text: string, state: Choice): string {
    state.open = 'text';
    if (text === '') return '';
    state.hasContent = true;
    return this.framing.frame(textHead + stringifyLine(text) + textTail + state.tail);
  }

  private writeThought(text: string, state: Choice): string {
    state.open = 'reasoning';
    if (text === '') return '';
    state.hasContent = true;
    if (!this.facts.includeThoughts) return '';
    return this.framing.frame(textHead + stringifyLine(text) + thoughtTail + state.tail);
  }

  private writeScored(
    event: TextDelta,
    logprobs: NonNullable<TextDelta['logprobs']>,
    state: Choice,
    choice: number,
  ): string {
    state.open = 'text';
    state.hasContent = true;
    return this.writeCandidate([{ text: event.text }], choice, { logprobsResult: encodeLogprobs(logprobs) });
  }

  /** A signature gets a part of its own, without text, after the text that it signs. */
  private annotate(fields: JsonObject, state: Choice, choice: number): string {
    if (Object.keys(fields).length === 0 || state.open === 'other' || this.facts.isOlderSdk) return '';
    const extensions = { [FORMAT]: fields };
    return this.writePart({ type: state.open, text: '', extensions }, state, choice);
  }

  private flushCall(state: Choice, choice: number): string {
    const { call } = state;
    if (!call) return '';
    state.call = undefined;
    return this.writePart(call, state, choice);
  }

  private writePart(part: AssistantPart, state: Choice, choice: number): string {
    state.hasContent = true;
    const encoded = encodeAnswerPart(part, this.facts);
    if (part.type === 'opaque') state.open = 'other';
    if (!encoded) return '';
    state.hasMalformedCall ||= encoded.isMalformed;
    return this.writeCandidate([encoded.part], choice, {});
  }

  private finish(event: FinishEvent, state: Choice, choice: number): string {
    state.isDone = true;
    this.finished = this.finished ? addUsage(this.finished, event.usage) : event.usage;
    this.usage = { ...this.usage, ...this.finished };
    this.writeTails();
    const kept = keptOn(event);
    const response = nestedIn(kept, 'response');
    const usageMetadata = encodeUsage(this.usage, this.facts.textOnly);
    const beside = { ...this.besides(), usageMetadata, ...response };
    const candidate = {
      content: { role: 'model', parts: this.facts.isOlderSdk ? [] : [emptyPart] },
      finishReason: encodeFinishReason(event, state.hasMalformedCall),
      index: choice,
      ...nestedIn(kept, 'candidate'),
    };
    const isRefused = 'promptFeedback' in response && !state.hasContent;
    this.isOver = this.choices.every(({ isDone }) => isDone);
    const chunk = stringifyLine(isRefused ? beside : { candidates: [candidate], ...beside });
    return this.framing.frame(chunk) + (this.isOver ? this.framing.close() : '');
  }

  private writeCandidate(parts: JsonObject[], index: number, fields: JsonObject): string {
    const { usageMetadata, ...beside } = this.besides();
    const usage = Object.keys(usageMetadata).length > 0 ? { usageMetadata } : {};
    const candidate = { content: { role: 'model', parts }, ...fields, index };
    return this.framing.frame(stringifyLine({ candidates: [candidate], ...usage, ...beside }));
  }
}

function newChoice(index: number): Choice {
  return {
    tail: `,"index":${index}}]}`,
    call: undefined,
    open: 'other',
    hasContent: false,
    hasMalformedCall: false,
    isDone: false,
  };
}
