import type { ErrorInfo } from './error.ts';
import type { Extensible, FormatId, Opaque } from './extensions.ts';
import type { Json, JsonObject } from './json.ts';

/**
 * One step of a generation. Content events name their block: blocks count from 0 and never go back, and a
 * higher number closes the block before it. See `grammar.ts` for the order that is legal.
 */
export type GenerationEvent =
  | StartEvent
  | TextDelta
  | ReasoningDelta
  | ToolCallStart
  | ToolCallDelta
  | ToolCallEnd
  | BlockAnnotation
  | OpaqueEvent
  | FinishEvent
  | ErrorEvent;

export interface StartEvent extends Extensible {
  type: 'start';
  /** Bare id of the generation, letters and digits; formats put their own prefix before it. */
  id: string;
  model: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Prompt tokens, those of a cache among them, where the engine knows them before it answers. */
  inputTokens?: number;
  /** How many of them were read from a cache, and how many written into one. */
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** What a format files on the usage and is known by then. */
  usageExtensions?: Record<FormatId, JsonObject>;
}
interface Delta {
  block: number;
  /** Output tokens that this delta stands for; absent means the engine does not say. */
  tokens?: number;
}
export interface TextDelta extends Delta {
  type: 'text-delta';
  text: string;
  /** Log probabilities of the tokens of this delta, in the chat dialect's `content[]` shape. */
  logprobs?: Json[];
}
export interface ReasoningDelta extends Delta {
  type: 'reasoning-delta';
  text: string;
}
export interface ToolCallStart extends Extensible {
  type: 'tool-call-start';
  block: number;
  id: string;
  name: string;
}
/** A fragment of the call's JSON text. */
export interface ToolCallDelta extends Delta {
  type: 'tool-call-delta';
  arguments: string;
}
export interface ToolCallEnd extends Extensible {
  type: 'tool-call-end';
  block: number;
}
/** Fields that belong to the block that is open now (a signature, citations); merged by `mergeExtensions`. */
export interface BlockAnnotation {
  type: 'block-annotation';
  block: number;
  extensions: Record<FormatId, JsonObject>;
}
/**
 * A whole content block (with `block`) or a wire event of its own (without) that only `format` understands.
 * One with a block is content and appears in the collected answer; one without passes by in streams only.
 */
export interface OpaqueEvent extends Opaque {
  block?: number;
}
export interface FinishEvent extends Extensible {
  type: 'finish';
  reason: FinishReason;
  /** The upstream's own word, where it says more than `reason`. */
  rawReason?: string;
  /** The stop string that was hit; only with reason `stop`. */
  stopSequence?: string;
  usage: Usage;
}
/** Terminal. `usage` is what its run had spent before the failure, when known, so that quota is settled honestly. */
export interface ErrorEvent {
  type: 'error';
  error: ErrorInfo;
  usage?: Usage;
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other';

/** Totals are inclusive: input counts cached tokens, output counts reasoning tokens. Absent = not reported. */
export interface Usage extends Extensible {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

export type TerminalEvent = FinishEvent | ErrorEvent;

/** Of a request that no model has seen. */
export const nothingSpent: Usage = { inputTokens: 0, outputTokens: 0 };

/** True for the event after which nothing more may come. */
export function isTerminal(event: GenerationEvent): event is TerminalEvent {
  return event.type === 'finish' || event.type === 'error';
}

/** True for events that a reader of the answer would see; the first of them ends the time to first token. */
export function isContent(event: GenerationEvent): boolean {
  return (
    event.type === 'text-delta' ||
    event.type === 'reasoning-delta' ||
    event.type === 'tool-call-start' ||
    event.type === 'tool-call-delta' ||
    (event.type === 'opaque' && event.block !== undefined)
  );
}
