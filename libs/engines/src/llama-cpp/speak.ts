import type { FinishEvent, GenerationEvent, Json, Resume } from '@sluice/canonical';
import { Answer } from './answer.ts';
import type { ChatOptions, ChatResult, Sequence } from './library.ts';
import type { LoadedModel } from './model.ts';
import type { Plan } from './plan.ts';
import type { Calls } from './tools.ts';

/** What a generation needs besides its plan. */
export interface Speaker {
  model: LoadedModel;
  sequence: Sequence;
  /** Bare id of the run. */
  id: string;
  delivered: Resume['content'];
  signal: AbortSignal;
  emit(event: GenerationEvent): void;
}

/** The context ended before the answer did. */
class ContextFull extends Error {}

/** Generates one answer from its plan, from the first content to the finish. Rejects if the signal aborts. */
export async function speak(plan: Plan, speaker: Speaker): Promise<void> {
  const { model, sequence, id, delivered, signal, emit } = speaker;
  if (plan.maxTokens === 0) {
    emit(finish('length', plan, { read: plan.context.length, written: 0, thought: 0 }));
    return;
  }
  const answer = new Answer(emit, (block) => `call_${id}_${block}`, delivered, plan.stopSequences);
  const before = sequence.tokenMeter.getState();
  const { firstDifferentIndex } = sequence.compareContextTokens(plan.context);
  // The last token is always evaluated, because the next one follows from it.
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
  // A limit may have come just after the last bracket.
  closeWholeCall(answer, plan.calls);
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
    // Otherwise one more token would be evaluated.
    stopOnAbortSignal: true,
    maxTokens: plan.maxTokens,
    // No message is ever dropped to make room, since the caller would not know. The library asks for the size first and
    // ignores errors that a strategy throws, so this throws here.
    contextShift: {
      size() {
        throw new ContextFull();
      },
    },
    // The library does not handle stop strings: at a limit, it would swallow a text that may become one.
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
 * Completes a call whose arguments the library refuses although its own grammar demanded them: it counts a string's
 * UTF-16 units instead of its characters, and knows no integers with exponents. False if no call is open or its
 * arguments are incomplete.
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
