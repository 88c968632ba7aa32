import type { FinishReason, GenerationEvent, Json, JsonObject } from '@sluice/canonical';
import { extend } from '@sluice/canonical';
import { FORMAT } from '../wire.ts';
import { detailsField } from './reasoning-details.ts';
import { deltaEvents, type OpenCall, startEvents, ToolCalls } from './tool-calls.ts';

/** What a text in an answer is. */
export type TextKind = 'text' | 'refusal' | 'reasoning';
interface TextPiece {
  kind: TextKind;
  text: string;
  logprobs: Json[] | undefined;
}

interface OpaquePiece {
  value: Json;
}

/**
 * Turns a server's pieces into ordered blocks. Text is passed on at once, and so is the first call. Everything after a
 * call waits for the end of the answer, because only then is the call surely complete.
 */
export class AnswerBlocks {
  private readonly fallbackId: string;
  private readonly isSingleCall: boolean;
  private readonly toolCalls = new ToolCalls();
  private readonly waiting: (TextPiece | OpenCall | OpaquePiece)[] = [];
  /** Absent before the first call. */
  private ids: Set<string> | undefined;
  private sealed: Json[] = [];
  private live: OpenCall | undefined;
  private block = -1;
  private kind: TextKind | 'call' | undefined;
  hasRefusal = false;

  /** `isSingleCall`: only the first of several calls counts. */
  constructor(id: string, isSingleCall: boolean) {
    this.fallbackId = `call_${id}`;
    this.isSingleCall = isSingleCall;
  }

  text(kind: TextKind, text: string, logprobs?: Json[]): GenerationEvent[] {
    if (kind === 'refusal') this.hasRefusal = true;
    if (!this.hasCalls) return this.flow({ kind, text, logprobs });
    const last = this.waiting.at(-1);
    if (last && 'kind' in last && last.kind === kind) {
      last.text += text;
      if (!last.logprobs) last.logprobs = logprobs;
      else for (const each of logprobs ?? []) last.logprobs.push(each);
    } else this.waiting.push({ kind, text, logprobs });
    return [];
  }

  /** The kind of text that log probabilities without a text belong to; absent if none is open. */
  get logprobsPlace(): TextKind | undefined {
    if (this.hasCalls) return undefined;
    return this.kind === 'text' || this.kind === 'refusal' ? this.kind : undefined;
  }

  call(item: JsonObject): GenerationEvent[] {
    const known = this.toolCalls.calls.length;
    const call = this.toolCalls.add(item);
    if (this.toolCalls.calls.length > known) {
      if (known === 0 && !call.other) this.live = call;
      else this.waiting.push(call);
    }
    if (call !== this.live || !call.hasArguments) return [];
    if (call.isStarted) return deltaEvents(call, this.block);
    // vLLM's parser for Command A sends arguments before it sends the name.
    return isNamed(call) ? this.start(call) : [];
  }

  /**
   * Takes thoughts that only their server can read and that it wants back with the calls. The next call that is passed
   * on carries them.
   */
  seal(thoughts: readonly Json[]): void {
    for (const thought of thoughts) this.sealed.push(thought);
  }

  /** Takes a content part of an unknown type. */
  opaque(value: Json): GenerationEvent[] {
    if (!this.hasCalls) return this.flowOpaque(value);
    this.waiting.push({ value });
    return [];
  }

  /** Whether the answer cannot be complete: the arguments of a call are cut off, or nothing follows the thoughts. */
  get isHalf(): boolean {
    return this.toolCalls.areHalf || (!this.hasCalls && this.kind === 'reasoning');
  }

  /** Whether a call has begun: some servers send pieces of calls that say nothing. */
  get hasCalls(): boolean {
    return this.toolCalls.calls.some(hasBegun);
  }

  /** Whether a call has arguments but no name, so that nobody could answer it. */
  get hasNamelessCalls(): boolean {
    return this.toolCalls.calls.some((call) => hasBegun(call) && !isNamed(call) && !call.other);
  }

  /** Passes on everything that was waiting. Call it once. */
  end(): GenerationEvent[] {
    const events: GenerationEvent[] = [];
    const { live } = this;
    if (live && isNamed(live)) events.push(...(live.isStarted ? [] : this.start(live)), this.close(live));
    const first = this.toolCalls.calls.find(hasBegun);
    for (const piece of this.waiting) {
      if ('kind' in piece) events.push(...this.flow(piece));
      else if ('value' in piece) events.push(...this.flowOpaque(piece.value));
      // Some servers ignore that one call is wanted. The client answers the first and never the others.
      else if (this.isSingleCall && piece !== first) continue;
      else if (piece.other) events.push(...this.flowOpaque(piece.other));
      else if (isNamed(piece)) events.push(...this.start(piece), this.close(piece));
    }
    return events;
  }

  /** The server's reason, corrected to match the content: clients look for calls only if the reason says so. */
  reasonOf(reason: FinishReason): FinishReason {
    if (this.hasCalls) return reason === 'stop' ? 'tool-calls' : reason;
    if (this.hasRefusal && reason === 'stop') return 'content-filter';
    return reason === 'tool-calls' ? 'stop' : reason;
  }

  private flow({ kind, text, logprobs }: TextPiece): GenerationEvent[] {
    const events: GenerationEvent[] = [];
    if (kind !== this.kind) {
      this.block += 1;
      this.kind = kind;
      if (kind === 'refusal') {
        // The annotation needs an open block, and it must be known before the text is shown.
        events.push({ type: 'text-delta', block: this.block, text: '' });
        events.push({
          type: 'block-annotation',
          block: this.block,
          extensions: { [FORMAT]: { refusal: true } },
        });
      }
    }
    const { block } = this;
    if (kind === 'reasoning') events.push({ type: 'reasoning-delta', block, text });
    else if (logprobs) events.push({ type: 'text-delta', block, text, logprobs });
    else events.push({ type: 'text-delta', block, text });
    return events;
  }

  private flowOpaque(value: Json): GenerationEvent[] {
    this.block += 1;
    this.kind = undefined;
    return [{ type: 'opaque', block: this.block, format: FORMAT, value }];
  }

  private start(call: OpenCall): GenerationEvent[] {
    this.block += 1;
    this.kind = 'call';
    const { wireId } = call;
    // Some servers give all calls of an answer the same id, so nobody could tell their results apart.
    const isOwn = wireId !== undefined && !this.ids?.has(wireId);
    const id = isOwn ? wireId : `${this.fallbackId}_${call.place}`;
    this.ids ??= new Set();
    this.ids.add(id);
    Object.assign(call.kept, this.takeSealed());
    return startEvents(call, this.block, id);
  }

  private close(call: OpenCall): GenerationEvent {
    Object.assign(call.kept, this.takeSealed());
    return { type: 'tool-call-end', block: this.block, ...extend(FORMAT, call.kept) };
  }

  private takeSealed(): JsonObject {
    const { sealed } = this;
    this.sealed = [];
    return sealed.length === 0 ? {} : { [detailsField]: sealed };
  }
}

/** Whether more has come of a call than its number and its id. */
function hasBegun({ name, hasArguments, other }: OpenCall): boolean {
  return name !== '' || hasArguments || other !== undefined;
}

function isNamed({ name }: OpenCall): boolean {
  return name !== '';
}
