import { type Json, SluiceError } from '@sluice/canonical';

/**
 * The part of node-llama-cpp that is used here. It is no dependency of ours, since its binaries take up to 900 MB:
 * users who embed a model install it beside Sluice. Its own types are therefore not available to the type checker.
 */
export interface LlamaLibrary {
  getLlama(options: {
    gpu: 'auto' | 'metal' | 'cuda' | 'vulkan' | false;
    build: 'never';
    skipDownload: true;
    progressLogs: false;
    logger(level: string, message: string): void;
  }): Promise<Llama>;
  readonly LlamaChat: new (options: { contextSequence: Sequence; chatWrapper: ChatWrapper }) => Chat;
  readonly LlamaText: new (...values: readonly ContextValue[]) => ContextText;
  readonly SpecialTokensText: new (text: string) => MarkedText;
  resolveChatWrapper(
    model: Model,
    options: {
      type: string;
      /** Whether another format is guessed if the template is broken. */
      fallbackToOtherWrappersOnJinjaError: boolean;
      warningLogs: false;
    },
  ): ChatWrapper;
}

/** The loaded bindings of llama.cpp. */
export interface Llama {
  loadModel(options: { modelPath: string; gpuLayers?: number; loadSignal: AbortSignal }): Promise<Model>;
  createGrammarForJsonSchema(schema: GrammarSchema): Promise<Grammar>;
}

/** A model file in memory. */
export interface Model {
  readonly trainContextSize: number;
  readonly tokenizer: Tokenizer;
  iterateAllTokens(): Iterable<number>;
  getTokenAttributes(token: number): { readonly control: boolean; readonly unknown: boolean };
  detokenize(tokens: readonly number[], specialTokens: boolean): string;
  createContext(options: {
    sequences: number;
    contextSize: number;
    threads: number;
    createSignal: AbortSignal;
  }): Promise<Context>;
  /** Gives back its memory and that of its contexts. */
  dispose(): Promise<void>;
}

export type Tokenizer = (text: string) => readonly number[];

/** Memory for a number of sequences, which are evaluated in shared batches. */
export interface Context {
  /** Tokens of one sequence. */
  readonly contextSize: number;
  getSequence(): Sequence;
}

/** A slot for one generation. It keeps what it evaluated last, so that a prompt with the same beginning costs less. */
export interface Sequence {
  readonly tokenMeter: { getState(): MeterState; diff(since: MeterState): MeterState };
  compareContextTokens(tokens: readonly number[]): { firstDifferentIndex: number };
  clearHistory(): Promise<void>;
}

/** Tokens evaluated so far. */
export interface MeterState {
  readonly usedInputTokens: number;
  readonly usedOutputTokens: number;
}

/** Opaque: only the library looks into it. */
export interface Grammar {
  readonly grammar: string;
}

/** How a model's chats are written. */
export interface ChatWrapper {
  readonly wrapperName: string;
  /** How hard the model is told to think, if its chats say that. */
  readonly reasoningEffort?: 'low' | 'medium' | 'high';
  readonly settings: {
    readonly segments?: { readonly thought?: { readonly openOnResponseStart?: boolean } };
  };
  generateContextState(options: ContextStateOptions): ContextState;
}

/** What a chat's prompt is made of. */
export interface ContextStateOptions {
  chatHistory: readonly HistoryItem[];
  availableFunctions?: Functions;
  documentFunctionParams?: boolean;
}

/** A chat's prompt, and how to read what the model adds to it. */
export interface ContextState {
  readonly contextText: ContextText;
  readonly stopGenerationTriggers: unknown;
  /** Text that may precede an answer without being part of it. */
  readonly ignoreStartText?: readonly unknown[];
  readonly functionCall?: { initiallyEngaged: boolean; disengageInitiallyEngaged: readonly never[] };
}

/** A prompt before it is tokenized: plain text and control tokens. */
export interface ContextText {
  readonly values: readonly ContextValue[];
  tokenize(tokenizer: Tokenizer): number[];
}

/** A string is plain text, whatever it contains. */
export type ContextValue = string | MarkedText;
/** Text in which control tokens count, or the name of a control token. */
export interface MarkedText {
  readonly value: string;
}

/** Generates answers in one sequence. */
export interface Chat {
  generateResponse(history: readonly HistoryItem[], options: ChatOptions): Promise<ChatResult>;
  dispose(): void;
}

/** One turn of a conversation. */
export type HistoryItem = { type: 'system' | 'user'; text: string } | ModelTurn;

/** A turn of the model: what it said, thought and called. */
export interface ModelTurn {
  type: 'model';
  response: ResponseItem[];
}

/** A text, a thought, or a call with its result. */
export type ResponseItem =
  | string
  | { type: 'segment'; segmentType: 'thought'; text: string; ended: boolean }
  | FunctionCall;

/** A call that the model made, together with its result. */
export interface FunctionCall {
  type: 'functionCall';
  name: string;
  params: Json;
  result: Json;
  /** Absent if the call was made together with the previous one, before its result was known. */
  startsNewChunk?: boolean;
}

/** The functions that the model may call, by name. */
export type Functions = Readonly<Record<string, { description?: string; params?: GrammarSchema }>>;

/**
 * The part of JSON Schema that the library turns into grammars. Every named property is generated. Descriptions are
 * shown to a model that is told of its functions.
 */
export type GrammarSchema = { description?: string } & (
  | { type: string | readonly string[]; minLength?: number; maxLength?: number; format?: string }
  | { const: string | number | boolean | null }
  | { enum: readonly (string | number | boolean | null)[] }
  | { oneOf: readonly GrammarSchema[] }
  | { $ref: string }
  | GrammarObject
  | GrammarArray
);

/** A list in a grammar: the elements of `prefixItems`, then any number of `items`. */
export interface GrammarArray {
  type: 'array';
  items?: GrammarSchema;
  prefixItems?: readonly GrammarSchema[];
  minItems?: number;
  maxItems?: number;
}

/** An object in a grammar: every property is generated, in this order. */
export interface GrammarObject {
  type: 'object';
  properties?: Readonly<Record<string, GrammarSchema>>;
  additionalProperties?: boolean | GrammarSchema;
}

/** How one answer is generated. */
export interface ChatOptions {
  signal: AbortSignal;
  /** An abort is an ordinary end if something was said already. */
  stopOnAbortSignal: true;
  maxTokens: number;
  temperature: number;
  minP: number;
  topK: number;
  topP: number;
  seed?: number;
  repeatPenalty: false | { penalty: number; frequencyPenalty: number; presencePenalty: number };
  budgets?: { thoughtTokens: number };
  grammar?: Grammar;
  functions?: Functions;
  documentFunctionParams?: boolean;
  maxParallelFunctionCalls?: number;
  /** Asks how many tokens to free when the oldest messages would have to go to make room for the next token. */
  contextShift: { size(): never };
  onResponseChunk(chunk: ResponseChunk): void;
  onFunctionCallParamsChunk?(chunk: { functionName: string; paramsChunk: string }): void;
  /** `params` is absent for a function without parameters. */
  onFunctionCall?(call: { functionName: string; params: Json | undefined }): void;
}

/** A piece of an answer. */
export interface ResponseChunk {
  readonly segmentType: 'thought' | 'comment' | undefined;
  readonly text: string;
  readonly tokens: readonly number[];
}

/** Why an answer ended. */
export interface ChatResult {
  readonly metadata: {
    readonly stopReason: 'eogToken' | 'stopGenerationTrigger' | 'functionCalls' | 'maxTokens' | 'abort';
  };
}

const packageName = 'node-llama-cpp';

/** Loads the package. If it is missing, rejects with a sentence that says how to install it. */
export async function loadLibrary(): Promise<LlamaLibrary> {
  try {
    return (await import(packageName)) as LlamaLibrary;
  } catch (cause) {
    throw new SluiceError(
      'unavailable',
      `the engine llama-cpp needs the package ${packageName}: npm install --no-save ${packageName}@3`,
      { cause },
    );
  }
}
