import type { Extensible, Opaque } from './extensions.ts';
import type { JsonObject } from './json.ts';

/** What a caller asks of a model, in no vendor's words. How the answer is delivered is not part of it. */
export interface InferenceRequest extends Extensible {
  /** The public name that the client sent, before aliases are resolved. */
  model: string;
  messages: Message[];
  /**
   * The last message, the assistant's, is the beginning of the answer: the model goes on with it, and what it says is
   * the rest. An engine that can't refuses. `path` is the message's in the client's request. Absent: it answers afresh.
   */
  prefill?: { path: string };
  tools?: Tool[];
  /** Absent means the model decides (`auto`) when there are tools. */
  toolChoice?: ToolChoice;
  /** Absent means the backend's default. False allows at most one call per answer. */
  parallelToolCalls?: boolean;
  sampling: Sampling;
  /** Absent means free text. */
  output?: OutputFormat;
  /** Absent means the model's own default. */
  reasoning?: Reasoning;
  /** Log probabilities of the chosen tokens and of this many alternatives; absent means none are wanted. */
  logprobs?: { alternatives: number };
  /** The client's own id of its user; passed on, never interpreted. */
  endUser?: string;
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
/** May stand at any position; codecs keep the position where their dialect can. */
export interface SystemMessage extends Extensible {
  role: 'system';
  content: (TextPart | Opaque)[];
}
export interface UserMessage extends Extensible {
  role: 'user';
  content: (TextPart | MediaPart | Opaque)[];
}
export interface AssistantMessage extends Extensible {
  role: 'assistant';
  content: AssistantPart[];
}
export interface ToolMessage extends Extensible {
  role: 'tool';
  content: ToolResultPart[];
}

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart | MediaPart | Opaque;

export interface TextPart extends Extensible {
  type: 'text';
  text: string;
}
/** Thinking that the model showed. Signatures are the issuing format's own and live in `extensions`. */
export interface ReasoningPart extends Extensible {
  type: 'reasoning';
  text: string;
}
export interface MediaPart extends Extensible {
  type: 'media';
  /** An IANA media type; `image/*` when a URL was given without one. */
  mediaType: string;
  filename?: string;
  source: { type: 'base64'; data: string } | { type: 'url'; url: string } | { type: 'file-id'; id: string };
}
/** `arguments` is JSON text exactly as the model wrote it; it may be malformed. Empty text means no arguments. */
export interface ToolCallPart extends Extensible {
  type: 'tool-call';
  id: string;
  name: string;
  arguments: string;
}
export interface ToolResultPart extends Extensible {
  type: 'tool-result';
  toolCallId: string;
  /** Needed by dialects that match results by name. Absent means the call must be looked up by id. */
  toolName?: string;
  isError?: boolean;
  content: (TextPart | MediaPart | Opaque)[];
}

export type Tool = FunctionTool | Opaque;
export interface FunctionTool extends Extensible {
  type: 'function';
  name: string;
  description?: string;
  /** JSON Schema with the caller's key order; a tool without parameters has `{type:'object',properties:{}}`. */
  parameters: JsonObject;
  strict?: boolean;
}

/** `allowed` narrows `auto` and `required` to some of the tools; absent means all of them. */
export type ToolChoice =
  | { type: 'auto' | 'required'; allowed?: string[] }
  | { type: 'none' }
  | { type: 'tool'; name: string };

export interface Sampling {
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  seed?: number;
  stopSequences?: string[];
}

export type OutputFormat =
  | { type: 'text' }
  | { type: 'json'; schema?: JsonObject; name?: string; description?: string; strict?: boolean };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
export interface Reasoning {
  effort?: ReasoningEffort;
  budgetTokens?: number;
  /** Whether the client wants to see the thinking. Absent means its format's default. */
  visible?: boolean;
}

/** What had been delivered to the client when an earlier attempt was lost: the next one continues after it. */
export interface Resume {
  content: AssistantPart[];
  /** Output tokens that `content` stands for, as the lost attempt counted them. */
  outputTokens: number;
}

/**
 * Whether a generation that was lost midway can go on: `exact` gives the very text that an undisturbed run
 * would have given; `prefix` lets the model continue the delivered text; `none` can't.
 */
export type ResumeAbility = 'exact' | 'prefix' | 'none';
