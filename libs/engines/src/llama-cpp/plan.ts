import {
  type AssistantPart,
  type InferenceRequest,
  outputLimit,
  type Reasoning,
  type Sampling,
  SluiceError,
  thinkingWish,
} from '@sluice/canonical';
import type { GenerationRun } from '../engine.ts';
import { lost } from '../lost.ts';
import { cannotContinue } from '../prefill.ts';
import { planGrammar } from './grammar-schema.ts';
import { skipThought, writeDelivered, writeHistory } from './history.ts';
import type { ChatOptions, ChatWrapper, Grammar, HistoryItem, ModelTurn } from './library.ts';
import type { LoadedModel } from './model.ts';
import type { LlamaCppOptions } from './options.ts';
import { type Calls, planCalls } from './tools.ts';
import { withEffort, wrapperFor } from './wrapper.ts';

/** No useful text has longer tokens on average. */
const mostCharactersPerToken = 16;
/** The most tokens that a chat's own syntax may take besides prompt and answer, for a call for example. */
const syntaxTokens = 64;

/** All that is decided before a slot is free. */
export interface Plan {
  history: readonly HistoryItem[];
  wrapper: ChatWrapper;
  calls: Calls;
  /** Tokens of the prompt. */
  inputTokens: number;
  /** The prompt and what was delivered: all that has to be evaluated before the first token. */
  context: readonly number[];
  /** Output tokens that the client already has. */
  deliveredTokens: number;
  /** Those of them that are thoughts. */
  deliveredReasoningTokens: number;
  /** At least 0, which means that only the end is missing. */
  maxTokens: number;
  options: Omit<
    ChatOptions,
    'signal' | 'stopOnAbortSignal' | 'maxTokens' | 'contextShift' | 'onResponseChunk'
  >;
  stopSequences: readonly string[] | undefined;
  /** Formats of parts that only they understand, one entry for each part. */
  dropped: readonly string[];
}

/**
 * Plans a request for this model. Throws `invalid-request` for what it cannot do or hold, and `upstream-failed` for a
 * lost answer that cannot be continued.
 */
export async function planGeneration(
  request: InferenceRequest,
  run: GenerationRun,
  loaded: LoadedModel,
  defaults: LlamaCppOptions['sampling'],
): Promise<Plan> {
  if (request.logprobs) throw new SluiceError('invalid-request', 'the model gives no log probabilities');
  const model = { ...loaded, wrapper: withEffort(loaded.wrapper, request.reasoning?.effort) };
  const calls = planCalls(request);
  const { items: written, dropped } = writeHistory(request, thoughtsOf(model) !== undefined);
  // Tokenizing ten million characters would block the event loop, and with it all other streams, for four seconds.
  const { length } = JSON.stringify([written, calls.functions, request.output]);
  if (length > model.contextTokens * mostCharactersPerToken) {
    throw tooLong(`${length} characters with its schemas`, model.contextTokens);
  }
  const grammar = await createGrammar(request, calls, model);
  const delivered = run.resume?.content ?? [];
  if (delivered.length > 0) assertContinuable(delivered, grammar);
  if (request.prefill) assertPrefillable(request, grammar);
  const budgets = budgetsOf(request.reasoning);
  // Under a grammar, thoughts would be read as the answer.
  const isThoughtless = grammar !== undefined || budgets?.thoughtTokens === 0;
  const items = isThoughtless && thoughtsOf(model)?.openOnResponseStart ? skipThought(written) : written;
  const count = (history: readonly HistoryItem[]) => tokenize(history, calls, model);
  const history = delivered.length > 0 ? withTurn(items, writeDelivered(delivered)) : items;
  const prompt = count(items);
  const context = delivered.length > 0 ? count(history) : prompt;
  const room = model.contextTokens - context.length - (calls.functions ? syntaxTokens : 1);
  // A lost answer that has filled the context lacks only its end.
  if (room <= 0 && delivered.length === 0) throw tooLong(`${prompt.length} tokens`, model.contextTokens);
  const deliveredTokens = delivered.length > 0 ? (run.resume?.outputTokens ?? 0) : 0;
  const deliveredReasoningTokens = Math.min(deliveredTokens, countReasoning(delivered, model));
  const limit = outputLimit(request, run, prompt.length) ?? Number.POSITIVE_INFINITY;
  return {
    history,
    calls,
    context,
    dropped,
    deliveredTokens,
    deliveredReasoningTokens,
    stopSequences: request.sampling.stopSequences,
    wrapper: wrapperFor(model.wrapper, history, calls.isForced),
    inputTokens: prompt.length,
    maxTokens: Math.max(0, Math.min(limit - deliveredTokens, room)),
    options: {
      ...drawing(request.sampling, defaults),
      ...(budgets && { budgets }),
      ...(grammar && { grammar }),
      ...(calls.functions && {
        functions: calls.functions,
        documentFunctionParams: true,
        maxParallelFunctionCalls: calls.most,
      }),
    },
  };
}

function drawing(sampling: Sampling, defaults: LlamaCppOptions['sampling']) {
  const { seed, frequencyPenalty = 0, presencePenalty = 0 } = sampling;
  const isPlain = frequencyPenalty === 0 && presencePenalty === 0;
  return {
    temperature: sampling.temperature ?? defaults.temperature,
    topP: sampling.topP ?? defaults.topP,
    topK: sampling.topK ?? defaults.topK,
    minP: defaults.minP,
    // Otherwise the library would penalize repetitions on its own.
    repeatPenalty: isPlain ? (false as const) : { penalty: 1, frequencyPenalty, presencePenalty },
    // llama.cpp takes a seed of 32 bits.
    ...(seed !== undefined && { seed: seed >>> 0 }),
  };
}

function budgetsOf(reasoning: Reasoning | undefined): ChatOptions['budgets'] {
  const thoughtTokens = thinkingWish(reasoning) === 'declined' ? 0 : reasoning?.budgetTokens;
  return thoughtTokens === undefined ? undefined : { thoughtTokens };
}

/** How a model's chats mark thoughts. Absent: they do not. */
function thoughtsOf({ wrapper }: LoadedModel) {
  return wrapper.settings.segments?.thought;
}

async function createGrammar(
  { output }: InferenceRequest,
  calls: Calls,
  model: LoadedModel,
): Promise<Grammar | undefined> {
  if (output?.type !== 'json') return undefined;
  if (calls.functions) {
    throw new SluiceError('invalid-request', 'the model accepts either tools or a JSON format, not both');
  }
  const { schema } = planGrammar(output.schema ?? { type: 'object' }, false);
  try {
    return await model.llama.createGrammarForJsonSchema(schema);
  } catch (cause) {
    throw new SluiceError('invalid-request', 'the model cannot follow this JSON schema', { cause });
  }
}

/** Text and thoughts can be continued. A call or a JSON answer would start again in the middle. */
function assertContinuable(delivered: readonly AssistantPart[], grammar?: Grammar): void {
  if (!isProse(delivered) || grammar) throw lost();
}

function isProse(content: readonly AssistantPart[]): boolean {
  return content.every(({ type }) => type === 'text' || type === 'reasoning');
}

/** The same for an answer that the client has begun. A thought that is over is no beginning. */
function assertPrefillable(request: InferenceRequest, grammar?: Grammar): void {
  const last = request.messages.at(-1);
  const content = last?.role === 'assistant' ? last.content : [];
  if (!isProse(content) || content.at(-1)?.type !== 'text' || grammar) {
    throw cannotContinue(request, 'except in text, without JSON');
  }
}

/** The lost attempt counted all of its tokens together, so those of its thoughts are counted again. */
function countReasoning(delivered: readonly AssistantPart[], model: LoadedModel): number {
  const thoughts = delivered.filter((part) => part.type === 'reasoning');
  return thoughts.reduce((sum, { text }) => sum + model.tokenizer(text).length, 0);
}

/** What was delivered belongs to the model's current turn: after the results of its calls, if it called. */
function withTurn(items: readonly HistoryItem[], turn: ModelTurn): HistoryItem[] {
  const last = items.at(-1);
  if (last?.type !== 'model') return [...items, turn];
  return [...items.slice(0, -1), { type: 'model', response: [...last.response, ...turn.response] }];
}

function tokenize(history: readonly HistoryItem[], calls: Calls, model: LoadedModel): number[] {
  const isOpen = history.at(-1)?.type === 'model';
  const chatHistory = isOpen ? history : [...history, { type: 'model' as const, response: [] }];
  try {
    return model.wrapper
      .generateContextState({
        chatHistory,
        ...(calls.functions && { availableFunctions: calls.functions, documentFunctionParams: true }),
      })
      .contextText.tokenize(model.tokenizer);
  } catch (cause) {
    // Thrown by the model's own template: many refuse an order of roles that others accept.
    throw new SluiceError('invalid-request', "the model's chat template does not accept this conversation", {
      cause,
    });
  }
}

function tooLong(size: string, contextTokens: number): SluiceError {
  return new SluiceError(
    'invalid-request',
    `the prompt has ${size}, more than the model's context of ${contextTokens} tokens holds with an answer`,
    { detail: 'context-length-exceeded' },
  );
}
