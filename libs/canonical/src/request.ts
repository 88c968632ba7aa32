import type { Extensible, Opaque } from './extensions.ts';
import type { JsonObject } from './json.ts';

/** What a caller asks of a model, in vendor-neutral terms. How the answer is delivered is not part of it. */
export interface InferenceRequest extends Extensible {
  /** The public name that the client sent, before aliases are resolved. */
  model: string;
  messages: Message[];
  /**
   * Set when the last message, the assistant's, is the beginning of the answer: the model continues it and returns only
   * the rest. An engine that cannot do so refuses. `path` locates that message in the client's request. Absent means a
   * fresh answer.
   */
  prefill?: { path: string };
  tools?: Tool[];
  /** Absent means the model decides (`auto`) if there are tools. */
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

/** One message of a conversation; `role` tells the four kinds apart. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** May stand at any position; codecs keep the position where their dialect allows it. */
export interface SystemMessage extends Extensible {
  role: 'system';
  content: (TextPart | Opaque)[];
}

/** What the end user says or shows. */
export interface UserMessage extends Extensible {
  role: 'user';
  content: (TextPart | MediaPart | Opaque)[];
}

/** What the model said in an earlier turn. */
export interface AssistantMessage extends Extensible {
  role: 'assistant';
  content: AssistantPart[];
}

/** The results of tool calls. */
export interface ToolMessage extends Extensible {
  role: 'tool';
  content: ToolResultPart[];
}

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart | MediaPart | Opaque;

export interface TextPart extends Extensible {
  type: 'text';
  text: string;
}

/** Thinking that the model showed. Signatures belong to the format that issued them and live in `extensions`. */
export interface ReasoningPart extends Extensible {
  type: 'reasoning';
  text: string;
}

/** An image, document, sound or other file, given by its bytes, its URL or its id at the server. */
export interface MediaPart extends Extensible {
  type: 'media';
  /** An IANA media type; `image/*` for a URL that came without one. */
  mediaType: string;
  filename?: string;
  /**
   * The client wants the picture or video to cost few tokens; its words for that are in `extensions`. Absent: it said
   * nothing.
   */
  detail?: 'low';
  source: { type: 'base64'; data: string } | { type: 'url'; url: string } | { type: 'file-id'; id: string };
}

/** `arguments` is JSON text exactly as the model wrote it, so it may be malformed. Empty text means no arguments. */
export interface ToolCallPart extends Extensible {
  type: 'tool-call';
  id: string;
  name: string;
  arguments: string;
}

/** The result of one tool call. */
export interface ToolResultPart extends Extensible {
  type: 'tool-result';
  toolCallId: string;
  /** Needed by dialects that match results by name. Absent means the name must be looked up by the call's id. */
  toolName?: string;
  isError?: boolean;
  content: (TextPart | MediaPart | Opaque)[];
}

export type Tool = FunctionTool | Opaque;

/** A function that the client runs when the model calls it. */
export interface FunctionTool extends Extensible {
  type: 'function';
  name: string;
  description?: string;
  /** JSON Schema in the caller's key order; `{type:'object',properties:{}}` for a tool without parameters. */
  parameters: JsonObject;
  strict?: boolean;
}

/** `allowed` narrows `auto` and `required` to some of the tools; absent means all of them. */
export type ToolChoice =
  | { type: 'auto' | 'required'; allowed?: string[] }
  | { type: 'none' }
  | { type: 'tool'; name: string };

/** How the answer is sampled and limited. Absent settings are the backend's to choose. */
export interface Sampling {
  /** 0 asks for the prompt to be read alone, so that a cache holds it. */
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  seed?: number;
  stopSequences?: string[];
}

/** The form of the answer. JSON without a schema is any JSON. */
export type OutputFormat =
  | { type: 'text' }
  | { type: 'json'; schema?: JsonObject; name?: string; description?: string; strict?: boolean };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/**
 * How much the model is to think. Effort and budget may both be given. With neither, the amount is left to the model.
 */
export interface Reasoning {
  effort?: ReasoningEffort;
  budgetTokens?: number;
  /** Whether the client wants to see the thinking. Absent means its format's default. */
  visible?: boolean;
}

/** What a request says of thinking; `asked` may leave the amount to the model. */
export type ThinkingWish = 'asked' | 'declined' | 'unsaid';

/** An effort of `none` and a budget of 0 decline thinking. */
export function thinkingWish(reasoning: Reasoning | undefined): ThinkingWish {
  if (reasoning?.effort === 'none' || reasoning?.budgetTokens === 0) return 'declined';
  return reasoning === undefined ? 'unsaid' : 'asked';
}

/** What the client had received when an earlier attempt was lost. The next attempt continues after it. */
export interface Resume {
  content: AssistantPart[];
  /** Output tokens that `content` stands for, as the lost attempt counted them. */
  outputTokens: number;
}

/**
 * Whether a generation that was lost in mid-stream can go on. `exact`: the text is the one that an undisturbed run
 * would have given. `prefix`: the model continues the delivered text. `none`: it cannot.
 */
export type ResumeAbility = 'exact' | 'prefix' | 'none';
