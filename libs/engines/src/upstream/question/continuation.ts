import {
  type ErrorEvent,
  type FinishEvent,
  type GenerationEvent,
  type InferenceRequest,
  type JsonObject,
  type Resume,
  thinkingWish,
  type Usage,
} from '@sluice/canonical';
import type { ServerTraits } from '@sluice/formats';
import { lost } from '../../lost.ts';
import { cannotContinue, prefillText } from '../../prefill.ts';

/** A request for the rest of an answer, and how to read what comes. */
export interface Continuation {
  request: InferenceRequest;
  /** Fields for the wire body. Absent if the last turn does not begin the answer. */
  flags?: JsonObject;
  /**
   * The finish of an answer whose limit was already reached, so that nothing else is missing. Absent: ask the server.
   */
  missing?: FinishEvent;
  /**
   * Converts an event to what the whole answer would have had. Absent: it stays. Throws if the server did not continue
   * the text.
   */
  translate?(event: GenerationEvent): GenerationEvent;
}

/**
 * Asks for the rest of an answer whose beginning was delivered. Only plain text can be continued: a server that starts
 * afresh would corrupt a call, JSON or reasoning. Throws `upstream-failed` for those.
 */
export function continueAnswer(
  request: InferenceRequest,
  resume: Resume,
  { continuation }: ServerTraits,
): Continuation {
  const [part, ...others] = resume.content;
  const begun = request.prefill ? prefillText(request) : '';
  if (part?.type !== 'text' || others.length > 0 || begun === undefined || !isPlain(request)) throw lost();
  const { maxOutputTokens } = request.sampling;
  const left = maxOutputTokens === undefined ? undefined : maxOutputTokens - resume.outputTokens;
  return {
    request: {
      ...withLastTurn(request, begun + part.text),
      sampling: { ...request.sampling, ...(left !== undefined && { maxOutputTokens: left }) },
    },
    flags: continuation?.flags ?? {},
    ...(left !== undefined && left <= 0 && { missing: finishAtLimit(resume.outputTokens) }),
    translate: (event) => translate(event, resume.outputTokens),
  };
}

/**
 * Asks for the rest of an answer that the client has begun. Throws `invalid-request` if the server would start afresh,
 * or for more than plain text, which would be corrupted.
 */
export function continuePrefill(
  request: InferenceRequest,
  { continuation }: ServerTraits,
  ability: 'none' | 'prefix',
): Continuation {
  if (!request.prefill || continuation?.isUnasked) return { request };
  const text = prefillText(request);
  if (ability !== 'prefix') throw cannotContinue(request, 'that comes last');
  if (text === undefined || !isPlain(request)) {
    throw cannotContinue(request, 'except in plain text, without tools, JSON and thinking');
  }
  return { request: withLastTurn(request, text), flags: continuation?.flags ?? {} };
}

/** The request with this text as the assistant's last turn, in place of the beginning that the client sent. */
function withLastTurn(request: InferenceRequest, text: string): InferenceRequest {
  const before = request.prefill ? request.messages.slice(0, -1) : request.messages;
  return { ...request, messages: [...before, { role: 'assistant', content: [{ type: 'text', text }] }] };
}

function finishAtLimit(outputTokens: number): FinishEvent {
  return { type: 'finish', reason: 'length', usage: { outputTokens } };
}

function isPlain({ tools, output, reasoning }: InferenceRequest): boolean {
  return !tools?.length && output?.type !== 'json' && thinkingWish(reasoning) !== 'asked';
}

/** Whether a server refuses what it was asked. It had accepted the client's part before; the rest are our own words. */
function isOfTheQuestion({ error: { kind } }: ErrorEvent): boolean {
  return kind === 'invalid-request' || kind === 'too-large';
}

/** Whether the server begins a block. What it says beside the blocks may as well accompany the rest of the text. */
function isFreshStart(event: GenerationEvent): boolean {
  if (event.type === 'opaque') return event.block !== undefined;
  return event.type === 'reasoning-delta' || event.type === 'tool-call-start';
}

function translate(event: GenerationEvent, delivered: number): GenerationEvent {
  if (isFreshStart(event)) throw lost();
  if (event.type === 'error') return isOfTheQuestion(event) ? { ...event, error: lost().info } : event;
  return event.type === 'finish' ? { ...event, usage: usageOfWhole(event.usage, delivered) } : event;
}

/** The delivered text was part of this prompt, perhaps from a cache. It counts once, as output. */
function usageOfWhole(usage: Usage, delivered: number): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const prompt = inputTokens === undefined ? Number.POSITIVE_INFINITY : Math.max(0, inputTokens - delivered);
  const read = Math.min(cacheReadTokens ?? 0, prompt);
  return {
    ...usage,
    ...(inputTokens !== undefined && { inputTokens: prompt }),
    ...(outputTokens !== undefined && { outputTokens: outputTokens + delivered }),
    ...(cacheReadTokens !== undefined && { cacheReadTokens: read }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens: Math.min(cacheWriteTokens, prompt - read) }),
  };
}
