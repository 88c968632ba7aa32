import type { ErrorInfo } from './error.ts';
import type { Extensible, FormatId, Opaque } from './extensions.ts';
import type { Json, JsonObject } from './json.ts';

/**
 * One step of a generation. Content events name their block: blocks count from 0 and never go back, and a higher number
 * closes the block before it. `grammar.ts` defines which orders are legal.
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

/** The first event of every generation that was not refused. */
export interface StartEvent extends Extensible {
  type: 'start';
  /** The generation's bare id, letters and digits; each format adds its own prefix. */
  id: string;
  model: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Prompt tokens, cached ones included; present when the engine knows them before it answers. */
  inputTokens?: number;
  /** How many of them were read from a cache, and how many were written into one. */
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** Usage fields of one format that are known at the start. */
  usageExtensions?: Record<FormatId, JsonObject>;
}

interface Delta {
  block: number;
  /** Output tokens that this delta stands for; absent when the engine does not say. */
  tokens?: number;
}

/** A piece of the answer's text. */
export interface TextDelta extends Delta {
  type: 'text-delta';
  text: string;
  /** Log probabilities of this delta's tokens, in the chat dialect's `content[]` shape. */
  logprobs?: Json[];
}

/** A piece of the model's visible thinking. */
export interface ReasoningDelta extends Delta {
  type: 'reasoning-delta';
  text: string;
}

/** Opens a block with one tool call. */
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

/** The call's arguments are complete. */
export interface ToolCallEnd extends Extensible {
  type: 'tool-call-end';
  block: number;
}

/** Fields that belong to the open block (a signature, citations); merged by `mergeExtensions`. */
export interface BlockAnnotation {
  type: 'block-annotation';
  block: number;
  extensions: Record<FormatId, JsonObject>;
}

/**
 * A whole content block (with `block`), or a separate wire event (without), that only `format` understands. A block is
 * content and appears in the collected answer; a separate event appears in streams only.
 */
export interface OpaqueEvent extends Opaque {
  block?: number;
  /** Says of a separate event that a reader of the answer would see it, or hear it; absent of all others. */
  isContent?: true;
  /** Output tokens that a block stands for, as a picture's; absent when the engine does not say. */
  tokens?: number;
}

/** Terminal: the generation ended without an error. */
export interface FinishEvent extends Extensible {
  type: 'finish';
  reason: FinishReason;
  /** The upstream's own word, when it says more than `reason`. */
  rawReason?: string;
  /**
   * The stop string that was hit; only with the reason `stop`. Absent: none was, or the server did not say which.
   * Messages have a reason of their own for it, so an engine that knows it tells.
   */
  stopSequence?: string;
  usage: Usage;
}

/** Terminal. `usage` is what the run had spent before it failed, if known, so that the quota is settled honestly. */
export interface ErrorEvent {
  type: 'error';
  error: ErrorInfo;
  usage?: Usage;
}

/** `stop` is a natural end or a stop string, `length` a limit; `tool-calls` asks the client to run the calls. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other';

/** Totals are inclusive: input counts cached tokens, output counts reasoning tokens. Absent = not reported. */
export interface Usage extends Extensible {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

/** The last event of a generation; exactly one of the two. */
export type TerminalEvent = FinishEvent | ErrorEvent;

/** The usage of a request that no model has seen. */
export const nothingSpent: Usage = { inputTokens: 0, outputTokens: 0 };

/** True for the event after which nothing more may come. */
export function isTerminal(event: GenerationEvent): event is TerminalEvent {
  return event.type === 'finish' || event.type === 'error';
}

/** A piece of a text, of thinking or of a call's arguments. */
export type ContentDelta = TextDelta | ReasoningDelta | ToolCallDelta;

/** True for a piece of what the model says. */
export function isDelta(event: GenerationEvent): event is ContentDelta {
  return event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-delta';
}

/** True for events that a reader of the answer would see; the first one ends the time to first token (TTFT). */
export function isContent(event: GenerationEvent): boolean {
  return (
    isDelta(event) ||
    event.type === 'tool-call-start' ||
    (event.type === 'opaque' && (event.block !== undefined || event.isContent === true))
  );
}
