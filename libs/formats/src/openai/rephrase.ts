import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** How servers say that they do not take a word. */
const isUnknown = /unsupported|unexpected|unknown|unrecogni[sz]ed|not (?:supported|permitted|allowed)/i;
/** How they say that one is missing. */
const isMissed = /missing|passed back/i;

/**
 * The body without what a server of this dialect refused in these words. Azure's deployments have names of their own, so
 * that ours can't tell which model takes `max_completion_tokens` alone; its older versions, and some other servers,
 * do not know `stream_options`. `top_k` and thinking are in no version of the dialect: many servers take both, Groq,
 * Cerebras and Mistral refuse one name of thinking or either, while DeepSeek demands the thinking of every answer. Absent: it is none of these.
 */
export function rephrase(body: JsonObject, refusal: string): JsonObject | undefined {
  const { stream_options: options, max_tokens: limit, ...rest } = body;
  if (options !== undefined && refusal.includes('stream_options')) {
    return { ...rest, ...(limit !== undefined && { max_tokens: limit }) };
  }
  if (limit !== undefined && refusal.includes('max_completion_tokens')) {
    return {
      ...rest,
      ...(options !== undefined && { stream_options: options }),
      max_completion_tokens: limit,
    };
  }
  if (refusal.includes('reasoning_content')) return rethink(body, 'reasoning_content', refusal);
  if (/\breasoning\b/.test(refusal)) return rethink(body, 'reasoning', refusal);
  if (body.top_k === undefined || !refusal.includes('top_k') || !isUnknown.test(refusal)) return undefined;
  const { top_k: _refused, ...known } = body;
  return known;
}

/**
 * Answers without thinking under this name, or each with some, be it empty: a client may have it of another model, or
 * not at all.
 */
function rethink(body: JsonObject, name: string, refusal: string): JsonObject | undefined {
  const answers = Array.isArray(body.messages) ? body.messages.filter(isAnswer) : [];
  const isRefused = isUnknown.test(refusal) && answers.some((answer) => answer[name] !== undefined);
  const isWanted = isMissed.test(refusal) && answers.some((answer) => answer[name] === undefined);
  if (!Array.isArray(body.messages) || (!isRefused && !isWanted)) return undefined;
  const messages = body.messages.map((message) => {
    if (!isAnswer(message)) return message;
    const { [name]: thinking = '', ...said } = message;
    return isRefused ? said : { ...said, [name]: thinking };
  });
  return { ...body, messages };
}

function isAnswer(message: Json): message is JsonObject {
  return isJsonObject(message) && message.role === 'assistant';
}
