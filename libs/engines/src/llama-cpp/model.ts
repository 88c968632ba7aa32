import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { SluiceError } from '@sluice/canonical';
import type {
  Chat,
  ChatWrapper,
  Context,
  Llama,
  LlamaLibrary,
  Model,
  Sequence,
  Tokenizer,
} from './library.ts';
import type { LlamaCppOptions } from './options.ts';
import { keepCallsPlain } from './plain-calls.ts';
import { SharedLlama } from './shared-llama.ts';

/** A loaded model and its slots for generations. */
export interface LoadedModel {
  llama: Llama;
  tokenizer: Tokenizer;
  wrapper: ChatWrapper;
  /** The most tokens of one generation's prompt and answer together. */
  contextTokens: number;
  sequences: Sequence[];
  openChat(sequence: Sequence, wrapper: ChatWrapper): Chat;
  /** Gives back its memory. */
  dispose(): Promise<void>;
}

/** Loads the configured model. Rejects with a sentence that an operator understands. */
export async function loadModel(
  loadLibrary: () => Promise<LlamaLibrary>,
  options: LlamaCppOptions,
  signal: AbortSignal,
): Promise<LoadedModel> {
  const path = resolve(options.modelPath);
  await access(path, constants.R_OK).catch((cause) => {
    throw new SluiceError('unavailable', `the model file ${path} cannot be read`, { cause });
  });
  const library = await loadLibrary();
  const gpu = options.gpu === 'none' ? false : options.gpu;
  const shared = await SharedLlama.of(library, gpu).catch((cause: unknown) => {
    throw doesNot(`llama.cpp does not run here with gpu: ${options.gpu}`, cause);
  });
  return shared
    .load(() => loadInto(shared.llama, library, { ...options, modelPath: path }, signal))
    .catch((cause: unknown) => {
      throw doesNot(`the model ${path} does not load`, cause);
    });
}

/** Everything that it has loaded is given back if it rejects. */
async function loadInto(
  llama: Llama,
  library: LlamaLibrary,
  options: LlamaCppOptions,
  signal: AbortSignal,
): Promise<LoadedModel> {
  const model = await llama.loadModel({
    modelPath: options.modelPath,
    loadSignal: signal,
    ...(options.gpuLayers !== undefined && { gpuLayers: options.gpuLayers }),
  });
  try {
    const context = await openContext(model, options, signal);
    return {
      llama,
      tokenizer: model.tokenizer,
      wrapper: keepCallsPlain(findWrapper(model, options.chatWrapper, library), model, library),
      contextTokens: context.contextSize,
      sequences: Array.from({ length: options.slots }, () => context.getSequence()),
      openChat: (contextSequence, chatWrapper) => new library.LlamaChat({ contextSequence, chatWrapper }),
      dispose: () => model.dispose(),
    };
  } catch (thrown) {
    await model.dispose();
    throw thrown;
  }
}

function doesNot(fact: string, cause: unknown): SluiceError {
  return new SluiceError('unavailable', `${fact}: ${cause instanceof Error ? cause.message : ''}`, { cause });
}

/** How the model's chats are written. Throws if that is to be its own template, and it has none that works. */
function findWrapper(model: Model, type: LlamaCppOptions['chatWrapper'], library: LlamaLibrary): ChatWrapper {
  const isTemplate = type === 'jinjaTemplate';
  const wrapper = library.resolveChatWrapper(model, {
    type,
    fallbackToOtherWrappersOnJinjaError: !isTemplate,
    warningLogs: false,
  });
  // Without a template, the library guesses another format.
  if (isTemplate && wrapper.wrapperName !== 'JinjaTemplate') throw new Error('it has no chat template');
  return wrapper;
}

function openContext(
  model: Model,
  { slots, contextTokens, threads }: LlamaCppOptions,
  signal: AbortSignal,
): Promise<Context> {
  return model.createContext({
    sequences: slots,
    contextSize: Math.min(contextTokens, model.trainContextSize),
    // Its threads wait for one another without sleeping: if one has no core of its own, a token takes 100 ms.
    threads: threads ?? Math.max(1, availableParallelism() - 1),
    createSignal: signal,
  });
}
