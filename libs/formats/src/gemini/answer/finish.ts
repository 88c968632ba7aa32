import type { AssistantPart, FinishEvent, FinishReason } from '@sluice/canonical';
import { parseArguments } from '../arguments.ts';

/** The plain word for each reason. Answers with calls end with STOP: clients see the calls in the parts. */
const plainWord: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  other: 'OTHER',
};

/** Every word of the dialect. Malformed and unwanted calls are neither a natural end nor the work of a filter. */
const reasonOf: Readonly<Record<string, FinishReason>> = {
  FINISH_REASON_UNSPECIFIED: 'other',
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  LANGUAGE: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  ESCALATION: 'content-filter',
  PUP_LIMITED_DISABLED: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  IMAGE_OTHER: 'content-filter',
  NO_IMAGE: 'other',
  MALFORMED_FUNCTION_CALL: 'other',
  UNEXPECTED_TOOL_CALL: 'other',
  TOO_MANY_TOOL_CALLS: 'other',
  MALFORMED_RESPONSE: 'other',
  MISSING_THOUGHT_SIGNATURE: 'other',
  OTHER: 'other',
};

/** `finishReason`. A call with unreadable arguments turns a natural end into MALFORMED_FUNCTION_CALL. */
export function encodeFinishReason({ reason, rawReason }: FinishEvent, hasMalformedCall: boolean): string {
  if (hasMalformedCall && !cutsOff(reason)) return 'MALFORMED_FUNCTION_CALL';
  const isOurs = rawReason !== undefined && reasonOf[rawReason] === reason;
  return isOurs ? rawReason : plainWord[reason];
}

function cutsOff(reason: FinishReason): boolean {
  return reason === 'length' || reason === 'content-filter';
}

/**
 * Whether the end of the answer cut off its last part, a call. Such a call is left out: some SDKs run every call that
 * they get, and without its arguments it would be another call.
 */
export function isCutOff(last: AssistantPart | undefined, { reason }: FinishEvent): boolean {
  return last?.type === 'tool-call' && cutsOff(reason) && parseArguments(last.arguments).isMalformed;
}

/** The reason, and the server's own word if it says more. Unknown words are `other`. */
export function decodeFinishReason(
  word: string,
  hasCalls: boolean,
): { reason: FinishReason; rawReason?: string } {
  const known = Object.hasOwn(reasonOf, word) ? reasonOf[word] : undefined;
  if (known === 'stop' && hasCalls) return { reason: 'tool-calls' };
  const reason = known ?? 'other';
  return { reason, ...(word !== plainWord[reason] && { rawReason: word }) };
}
