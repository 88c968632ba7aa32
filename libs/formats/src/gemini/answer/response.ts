import {
  type AssistantPart,
  assertNever,
  type Generation,
  isJsonObject,
  type Json,
  type JsonObject,
  SluiceError,
} from '@sluice/canonical';
import { encodeCallId } from '../../calls/call-luggage.ts';
import type { ClientCall } from '../../codec.ts';
import { FORMAT, keptOn, nestedIn } from '../kept.ts';
import { encodeCall, encodeMedia, encodeReasoning, encodeText } from '../parts.ts';
import { type ReplyFacts, replyFacts } from '../request/request.ts';
import { encodeFinishReason, isCutOff } from './finish.ts';
import { encodeLogprobs, unspokenLogprobs } from './logprobs.ts';
import { addUsage, encodeUsage } from './usage.ts';

/*
 * A finish event keeps two objects for this format: `candidate` (ratings, citations, grounding) and `response` (the
 * feedback on the prompt and whatever else was beside the candidates); and a list, `logprobs`.
 */

/** The single body, with one candidate for each generation. */
export function encodeResponse(generations: readonly Generation[], call: ClientCall): Json {
  const [first] = generations;
  if (!first) throw new SluiceError('internal', 'an answer of no generation');
  const facts = replyFacts(call);
  const usage = generations.map(({ finish }) => finish.usage).reduce(addUsage);
  const response = nestedIn(keptOn(first.finish), 'response');
  const isRefused = 'promptFeedback' in response && generations.every(({ content }) => content.length === 0);
  return {
    ...(!isRefused && { candidates: generations.map((one, index) => encodeCandidate(one, index, facts)) }),
    usageMetadata: encodeUsage(usage, facts.textOnly),
    modelVersion: call.model,
    responseId: first.id,
    ...response,
  };
}

function encodeCandidate(
  { content, finish, logprobs }: Generation,
  index: number,
  facts: ReplyFacts,
): JsonObject {
  const whole = isCutOff(content.at(-1), finish) ? content.slice(0, -1) : content;
  const encoded = whole.map((part) => encodeAnswerPart(part, facts)).filter((part) => part !== undefined);
  const parts = joinTexts(encoded.map(({ part }) => part));
  const scored = [...(logprobs ?? []), ...unspokenLogprobs(finish)];
  return {
    content: { role: 'model', parts: parts.length > 0 ? parts : [emptyPart] },
    finishReason: encodeFinishReason(
      finish,
      encoded.some(({ isMalformed }) => isMalformed),
    ),
    index,
    ...(scored.length > 0 && { logprobsResult: encodeLogprobs(scored) }),
    ...nestedIn(keptOn(finish), 'candidate'),
  };
}

/** Joins adjacent plain texts to one part, as in a stream, where nothing separates them. */
function joinTexts(parts: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (const part of parts) {
    const last = joined[joined.length - 1];
    const kind = plainKind(part);
    if (last && kind !== undefined && kind === plainKind(last)) {
      joined[joined.length - 1] = { ...last, text: `${String(last.text)}${String(part.text)}` };
    } else joined.push(part);
  }
  return joined;
}

/** Absent for a part that is no text, or that carries more than its text, such as a signature. */
function plainKind({ text, thought, ...more }: JsonObject): 'text' | 'thought' | undefined {
  if (typeof text !== 'string' || Object.keys(more).length > 0) return undefined;
  return thought === true ? 'thought' : 'text';
}

/** Stands for an empty answer: SDK chats discard a whole answer if one of its chunks has no parts. */
export const emptyPart: JsonObject = { text: '' };

interface AnswerPart {
  part: JsonObject;
  isMalformed: boolean;
}

/**
 * Encodes a part of an answer. Absent for what this client does not get: thoughts that it did not ask for, blocks of
 * other formats, and empty text to which only another format's fields are attached.
 */
export function encodeAnswerPart(
  part: AssistantPart,
  { includeThoughts }: ReplyFacts,
): AnswerPart | undefined {
  const isText = part.type === 'text' || part.type === 'reasoning';
  if (isText && part.text === '' && Object.keys(keptOn(part)).length === 0) return undefined;
  const whole = (encoded: JsonObject): AnswerPart => ({ part: encoded, isMalformed: false });
  switch (part.type) {
    case 'text':
      return whole(encodeText(part));
    case 'reasoning':
      return includeThoughts ? whole(encodeReasoning(part)) : undefined;
    case 'tool-call':
      return encodeCall({ ...part, id: encodeCallId(part, FORMAT) });
    case 'media':
      return whole(encodeMedia(part));
    case 'opaque':
      return part.format === FORMAT && isJsonObject(part.value) ? whole(part.value) : undefined;
    default:
      return assertNever(part);
  }
}
