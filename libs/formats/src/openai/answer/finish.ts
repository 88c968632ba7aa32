import type { FinishReason } from '@sluice/canonical';

/** How the dialect says why the answer ended. */
export const finishWord: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  other: 'stop',
};

/** Words of OpenAI's API, and words that other servers of the dialect pass on from elsewhere, in lower case. */
const reasons = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool-calls'],
  ['tool_use', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
  ['refusal', 'content-filter'],
  ['sensitive', 'content-filter'],
  // Bedrock's.
  ['content_filtered', 'content-filter'],
  ['guardrail_intervened', 'content-filter'],
  // Gemini's.
  ['safety', 'content-filter'],
  ['recitation', 'content-filter'],
  ['language', 'content-filter'],
  ['blocklist', 'content-filter'],
  ['prohibited_content', 'content-filter'],
  ['spii', 'content-filter'],
  ['model_armor', 'content-filter'],
  ['escalation', 'content-filter'],
  ['pup_limited_disabled', 'content-filter'],
  ['image_safety', 'content-filter'],
  ['image_prohibited_content', 'content-filter'],
  ['image_recitation', 'content-filter'],
  ['image_other', 'content-filter'],
]);

/** Words for an answer that the server could not complete: of SGLang and vLLM, DeepSeek, Zhipu and TensorRT-LLM. */
const failures: ReadonlySet<string> = new Set([
  'abort',
  'error',
  'insufficient_system_resource',
  'network_error',
  'cancelled',
  'timeout',
]);

/** Gemini's own API puts its word behind one of this dialect: `content_filter: PROHIBITED_CONTENT`. */
const withOwnWord = /^(\w+): *(\w+)$/;

/** What a server's word means; `failed` for words that report a break-off instead of an end. */
export function decodeFinishWord(said: string): { reason: FinishReason; rawReason?: string } | 'failed' {
  const [, word = said, rawReason = said] = withOwnWord.exec(said) ?? [];
  const lowerCase = word.toLowerCase();
  if (failures.has(lowerCase)) return 'failed';
  const reason = reasons.get(lowerCase) ?? 'other';
  const isOwnWord = rawReason === finishWord[reason] || rawReason === 'function_call';
  return isOwnWord ? { reason } : { reason, rawReason };
}
