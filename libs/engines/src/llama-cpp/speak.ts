import type { FinishEvent, GenerationEvent, Json, Resume } from '@sluice/canonical';
import { Answer } from './answer.ts';
import type { ChatOptions, ChatResult, Sequence } from './library.ts';
import type { LoadedModel } from './model.ts';
import type { Plan } from './plan.ts';
import type { Calls } from './tools.ts';

/** What a generation needs beside its plan. */
export interface Speaker {
  model: LoadedModel;
  sequence: Sequence;
  /** Bare id of the run. */
  id: string;
  delivered: Resume['content'];
  signal: AbortSignal;
  emit(event: GenerationEvent): void;
}

/** The end of the context was reached before that of the answer. */
class ContextFull extends Error {}

/** Generates one answer from its plan, from the first content to the finish. Rejects when the signal aborts. */
export async function speak(plan: Plan, speaker: Speaker): Promise<void> {
  const { model, sequence, id, delivered, signal, emit } = speaker;
  if (plan.maxTokens === 0) {
    emit(finish('length', plan, { read: plan.context.length, written: 0, thought: 0 }));
    return;
  }
  const answer = new Answer(emit, (block) => `call_${id}_${block}`, delivered, plan.stopSequences);
  const before = sequence.tokenMeter.getState();
  const { firstDifferentIndex } = sequence.compareContextTokens(plan.context);
  // The last token is evaluated in any case: the next one follows from it.
  const known = Math.min(firstDifferentIndex, plan.context.length - 1);
  const chat = model.openChat(sequence, plan.wrapper);
  let reason: ChatResult['metadata']['stopReason'];
  try {
    const { metadata } = await chat.generateResponse(plan.history, optionsFor(plan, answer, signal));
    reason = metadata.stopReason;
  } catch (thrown) {
    if (thrown instanceof ContextFull) reason = 'maxTokens';
    else if (!signal.aborted && closeWholeCall(answer, plan.calls)) reason = 'functionCalls';
    else throw thrown;
  } finally {
    chat.dispose();
  }
  signal.throwIfAborted();
  answer.close();
  const { usedOutputTokens } = sequence.tokenMeter.diff(before);
  // The token that ends an answer is not part of it.
  const written = usedOutputTokens - (reason === 'eogToken' ? 1 : 0);
  const { stopSequence } = answer;
  emit({
    ...finish(stopSequence === undefined ? reasons[reason] : 'stop', plan, {
      read: plan.context.length - known,
      written,
      thought: answer.reasoningTokens,
    }),
    ...(stopSequence !== undefined && { stopSequence }),
  });
}

const reasons = {
  eogToken: 'stop',
  stopGenerationTrigger: 'stop',
  functionCalls: 'tool-calls',
  maxTokens: 'length',
  abort: 'other',
} as const satisfies Record<ChatResult['metadata']['stopReason'], FinishEvent['reason']>;

function optionsFor(plan: Plan, answer: Answer, signal: AbortSignal): ChatOptions {
  const stop = new AbortController();
  return {
    ...plan.options,
    signal: AbortSignal.any([signal, stop.signal]),
    // Else one more token would be evaluated.
    stopOnAbortSignal: true,
    maxTokens: plan.maxTokens,
    // Never a message is forgotten to make room: who asked would not know. The library asks for the size first, and
    // survives whatever its strategy throws.
    contextShift: {
      size() {
        throw new ContextFull();
      },
    },
    // Stop strings are no matter of the library: at a limit it would swallow what may become one.
    onResponseChunk(chunk) {
      answer.addChunk(chunk);
      if (answer.stopSequence !== undefined) stop.abort();
    },
    ...(plan.calls.functions && {
      onFunctionCallParamsChunk: ({ functionName, paramsChunk }) =>
        answer.growCall(functionName, paramsChunk),
      onFunctionCall: ({ functionName, params }) =>
        answer.closeCall(functionName, plan.calls.read(functionName, params ?? {})),
    }),
  };
}

/**
 * The library refuses some arguments that its own grammar asked for: it counts a string's units and not its characters,
 * and knows no integers with exponents. False where no call is open, or one that is not whole.
 */
function closeWholeCall(answer: Answer, calls: Calls): boolean {
  const { openCall } = answer;
  if (!openCall) return false;
  const generated = parse(openCall.args);
  if (generated === undefined) return false;
  answer.closeCall(openCall.name, calls.read(openCall.name, generated));
  return true;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function finish(
  reason: FinishEvent['reason'],
  { inputTokens, context, deliveredTokens, deliveredReasoningTokens }: Plan,
  { read, written, thought }: { read: number; written: number; thought: number },
): FinishEvent {
  const reasoningTokens = deliveredReasoningTokens + thought;
  return {
    type: 'finish',
    reason,
    usage: {
      inputTokens,
      outputTokens: deliveredTokens + written,
      cacheReadTokens: Math.min(inputTokens, context.length - read),
      ...(reasoningTokens > 0 && { reasoningTokens }),
    },
  };
}
