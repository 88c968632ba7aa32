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
  type ToolCallStart,
  type Usage,
  usageAtStart,
} from '@sluice/canonical';
import type { ClientCall, StreamEncoder } from '../../codec.ts';
import { encodeErrorBody } from '../error.ts';
import { FORMAT, keptOn, nestedIn } from '../kept.ts';
import { type ReplyFacts, replyFacts } from '../request/request.ts';
import { encodeFinishReason, isCutOff } from './finish.ts';
import { createFraming, type Framing, stringifyLine } from './framing.ts';
import { encodeLogprobs, unspokenLogprobs } from './logprobs.ts';
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
  /**
   * The calls that are not written yet, the last of them perhaps not whole. Parts are written whole, and calls in the
   * chunk with the reason to finish: before version 2, the SDK for Python answers only those of the last chunk.
   */
  calls: ToolCallPart[];
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
    const call = state.calls.at(-1);
    if (event.type === 'text-delta' && !call && !event.logprobs) return this.writeText(event.text, state);
    if (event.type === 'block-annotation' && call) {
      mergeExtensions(call, event.extensions);
      return '';
    }
    if (event.type === 'tool-call-start') return this.holdCall(event, state);
    if (event.type === 'tool-call-delta') {
      if (call) call.arguments += event.arguments;
      return '';
    }
    if (event.type === 'tool-call-end') {
      if (call && event.extensions) mergeExtensions(call, event.extensions);
      return '';
    }
    // An event without a block does not end the call that it interrupts.
    if (event.type === 'opaque' && event.block === undefined) return this.passBy(event);
    // Its calls are dropped: nobody is to run those of a failed answer, and the last one may lack half of its arguments.
    if (event.type === 'error') return this.fail(event);
    if (event.type === 'finish') return this.finish(event, state, choice);
    if (event.type === 'start') return this.start(event, choice);
    return this.flushCalls(state, choice) + this.write(event, state, choice);
  }

  keepAlive(): string {
    return this.isOver ? '' : this.framing.keepAlive();
  }

  private write(
    event: Exclude<GenerationEvent, { type: `tool-call-${string}` | 'start' | 'error' | 'finish' }>,
    state: Choice,
    choice: number,
  ): string {
    switch (event.type) {
      case 'text-delta':
        return event.logprobs
          ? this.writeScored(event, event.logprobs, state, choice)
          : this.writeText(event.text, state);
      case 'reasoning-delta':
        return this.writeThought(event.text, state);
      case 'block-annotation':
        return this.annotate(event.extensions[FORMAT] ?? {}, state, choice);
      case 'opaque':
        if (event.format !== FORMAT) return '';
        return this.writePart({ type: 'opaque', format: FORMAT, value: event.value }, state, choice);
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

  private start(event: StartEvent, choice: number): string {
    this.choices[choice] = newChoice(choice);
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

  private holdCall({ id, name, extensions }: ToolCallStart, state: Choice): string {
    state.calls.push({ type: 'tool-call', id, name, arguments: '', ...(extensions && { extensions }) });
    state.open = 'other';
    return '';
  }

  private flushCalls(state: Choice, choice: number): string {
    const parts = this.takeCalls(state);
    return parts.length > 0 ? this.writeCandidate(parts, choice, {}) : '';
  }

  private takeCalls(state: Choice): JsonObject[] {
    return state.calls.splice(0).flatMap((call) => this.encodePart(call, state));
  }

  private writePart(part: AssistantPart, state: Choice, choice: number): string {
    if (part.type === 'opaque') state.open = 'other';
    const parts = this.encodePart(part, state);
    return parts.length > 0 ? this.writeCandidate(parts, choice, {}) : '';
  }

  private encodePart(part: AssistantPart, state: Choice): JsonObject[] {
    state.hasContent = true;
    const encoded = encodeAnswerPart(part, this.facts);
    if (!encoded) return [];
    state.hasMalformedCall ||= encoded.isMalformed;
    return [encoded.part];
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
    if (isCutOff(state.calls.at(-1), event)) state.calls.pop();
    const calls = this.takeCalls(state);
    const emptyParts = this.facts.isOlderSdk ? [] : [emptyPart];
    const scored = unspokenLogprobs(event);
    const candidate = {
      content: { role: 'model', parts: calls.length > 0 ? calls : emptyParts },
      finishReason: encodeFinishReason(event, state.hasMalformedCall),
      index: choice,
      ...(scored.length > 0 && { logprobsResult: encodeLogprobs(scored) }),
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
    calls: [],
    open: 'other',
    hasContent: false,
    hasMalformedCall: false,
    isDone: false,
  };
}
