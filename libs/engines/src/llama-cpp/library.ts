import { type Json, SluiceError } from '@sluice/canonical';

/**
 * What of node-llama-cpp is used here. It is no dependency of ours, for its binaries take up to 900 MB: whoever
 * embeds a model installs it beside Sluice. So its own types are not there where this is checked.
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
  resolveChatWrapper(model: Model, options: { type: string }): ChatWrapper;
}

export interface Llama {
  loadModel(options: { modelPath: string; gpuLayers?: number; loadSignal: AbortSignal }): Promise<Model>;
  createGrammarForJsonSchema(schema: GrammarSchema): Promise<Grammar>;
  dispose(): Promise<void>;
}

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
}

export type Tokenizer = (text: string) => readonly number[];

export interface Context {
  /** Tokens of one sequence. */
  readonly contextSize: number;
  getSequence(): Sequence;
}

/** A place for one generation. It keeps what it evaluated last, so that a prompt that begins alike costs less. */
export interface Sequence {
  readonly tokenMeter: { getState(): MeterState; diff(since: MeterState): MeterState };
  compareContextTokens(tokens: readonly number[]): { firstDifferentIndex: number };
  clearHistory(): Promise<void>;
}
export interface MeterState {
  readonly usedInputTokens: number;
  readonly usedOutputTokens: number;
}

/** Opaque: only the library looks into one. */
export interface Grammar {
  readonly grammar: string;
}

/** How a model's chats are written. */
export interface ChatWrapper {
  readonly wrapperName: string;
  /** How hard it is told to think, where its chats say that. */
  readonly reasoningEffort?: 'low' | 'medium' | 'high';
  readonly settings: {
    readonly segments?: { readonly thought?: { readonly openOnResponseStart?: boolean } };
  };
  generateContextState(options: {
    chatHistory: readonly HistoryItem[];
    availableFunctions?: Functions;
    documentFunctionParams?: boolean;
  }): ContextState;
}
export interface ContextState {
  readonly contextText: ContextText;
  readonly stopGenerationTriggers: unknown;
  /** What may stand before an answer and is no part of it. */
  readonly ignoreStartText?: readonly unknown[];
  readonly functionCall?: { initiallyEngaged: boolean; disengageInitiallyEngaged: readonly never[] };
}

export interface ContextText {
  readonly values: readonly ContextValue[];
  tokenize(tokenizer: Tokenizer): number[];
}
/** A string is text, whatever stands in it. */
export type ContextValue = string | MarkedText;
/** Text in which the control tokens count, or the name of one of them. */
export interface MarkedText {
  readonly value: string;
}

export interface Chat {
  generateResponse(history: readonly HistoryItem[], options: ChatOptions): Promise<ChatResult>;
  dispose(): void;
}

export type HistoryItem = { type: 'system' | 'user'; text: string } | ModelTurn;
export interface ModelTurn {
  type: 'model';
  response: ResponseItem[];
}
export type ResponseItem =
  | string
  | { type: 'segment'; segmentType: 'thought'; text: string; ended: boolean }
  | FunctionCall;
export interface FunctionCall {
  type: 'functionCall';
  name: string;
  params: Json;
  result: Json;
  /** Absent where it was made together with the one before, of whose result it knew nothing. */
  startsNewChunk?: boolean;
}

export type Functions = Readonly<Record<string, { description?: string; params?: GrammarSchema }>>;

/**
 * The part of JSON Schema that the library makes a grammar of. Every property that is named is generated. A model that
 * is told of its functions is told the descriptions.
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
export interface GrammarArray {
  type: 'array';
  items?: GrammarSchema;
  prefixItems?: readonly GrammarSchema[];
  minItems?: number;
  maxItems?: number;
}
export interface GrammarObject {
  type: 'object';
  properties?: Readonly<Record<string, GrammarSchema>>;
  additionalProperties?: boolean | GrammarSchema;
}

export interface ChatOptions {
  signal: AbortSignal;
  /** Where something was said already, an abort is an end like others. */
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
  /** Called where the oldest messages would have to go to make room for the next token: room for how many tokens? */
  contextShift: { size(): never };
  onResponseChunk(chunk: ResponseChunk): void;
  onFunctionCallParamsChunk?(chunk: { functionName: string; paramsChunk: string }): void;
  /** `params` is absent for a function without parameters. */
  onFunctionCall?(call: { functionName: string; params: Json | undefined }): void;
}
export interface ResponseChunk {
  readonly segmentType: 'thought' | 'comment' | undefined;
  readonly text: string;
  readonly tokens: readonly number[];
}
export interface ChatResult {
  readonly metadata: {
    readonly stopReason: 'eogToken' | 'stopGenerationTrigger' | 'functionCalls' | 'maxTokens' | 'abort';
  };
}

const packageName = 'node-llama-cpp';

/** Loads the package. Rejects with a sentence that says how to install it where it is not there. */
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
