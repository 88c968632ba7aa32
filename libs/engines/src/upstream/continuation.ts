import type { FinishEvent, GenerationEvent, InferenceRequest, JsonObject, Resume } from '@sluice/canonical';
import { lost } from '../lost.ts';

/** How the servers of a dialect are told to go on with the last message instead of answering it. */
const continueFlags: Readonly<Record<string, JsonObject>> = {
  openai: { continue_final_message: true, add_generation_prompt: false },
};

/** A request that asks for the rest of an answer, and how to read what comes. */
export interface Continuation {
  request: InferenceRequest;
  /** Fields for the wire body. */
  flags?: JsonObject;
  /** All that is missing of an answer whose limit had been reached. Absent: the server has to be asked. */
  missing?: FinishEvent;
  /** An event as the whole answer would have had it. Absent: as it is. Throws where the server did not go on with the text. */
  translate?(event: GenerationEvent): GenerationEvent;
}

/**
 * Asks for what is missing of an answer whose beginning was delivered. Only plain text can be continued: a call,
 * JSON or reasoning would be corrupted by a server that starts afresh. Throws `upstream-failed` for those.
 */
export function continueAnswer(request: InferenceRequest, resume: Resume, dialect: string): Continuation {
  const [part, ...others] = resume.content;
  if (part?.type !== 'text' || others.length > 0 || !isPlain(request)) throw lost();
  const { maxOutputTokens } = request.sampling;
  const left = maxOutputTokens === undefined ? undefined : maxOutputTokens - resume.outputTokens;
  return {
    request: {
      ...request,
      messages: [...request.messages, { role: 'assistant', content: [{ type: 'text', text: part.text }] }],
      sampling: { ...request.sampling, ...(left !== undefined && { maxOutputTokens: left }) },
    },
    flags: continueFlags[dialect] ?? {},
    ...(left !== undefined && left <= 0 && { missing: finishAtLimit(resume.outputTokens) }),
    translate: (event) => translate(event, resume.outputTokens),
  };
}

function finishAtLimit(outputTokens: number): FinishEvent {
  return { type: 'finish', reason: 'length', usage: { outputTokens } };
}

function isPlain({ tools, output, reasoning }: InferenceRequest): boolean {
  const isThinking = reasoning !== undefined && reasoning.effort !== 'none';
  return !tools?.length && output?.type !== 'json' && !isThinking;
}

function translate(event: GenerationEvent, delivered: number): GenerationEvent {
  if (event.type === 'reasoning-delta' || event.type === 'tool-call-start' || event.type === 'opaque')
    throw lost();
  if (event.type !== 'finish') return event;
  const { inputTokens, outputTokens } = event.usage;
  return {
    ...event,
    usage: {
      ...event.usage,
      // The delivered text was part of this prompt; it counts as output, once.
      ...(inputTokens !== undefined && { inputTokens: Math.max(0, inputTokens - delivered) }),
      ...(outputTokens !== undefined && { outputTokens: outputTokens + delivered }),
    },
  };
}
