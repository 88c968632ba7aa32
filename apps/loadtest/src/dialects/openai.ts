import type { Dialect, EventFacts } from './dialect.ts';
import { dig, digCount, digList, digText } from './dig.ts';

/**
 * Words for an answer that the server could not complete: of SGLang and vLLM, DeepSeek, Zhipu and TensorRT-LLM. The
 * gateway has the same, but a judge does not share its reading with what it judges.
 */
const failures: ReadonlySet<string> = new Set([
  'abort',
  'error',
  'insufficient_system_resource',
  'network_error',
  'cancelled',
  'timeout',
]);

/** Chat completions. */
export const openai: Dialect = {
  format: 'openai',
  textKey: '"content":"',
  path: () => '/v1/chat/completions',
  headers: (key) => (key === undefined ? {} : { authorization: `Bearer ${key}` }),
  body: ({ model, prompt, maxTokens, isStream }) => ({
    model,
    messages: [{ role: 'user', content: prompt }],
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(isStream && { stream: true, stream_options: { include_usage: true } }),
  }),
  readEvent(data) {
    if (data === '[DONE]') return { isEnd: true };
    const event: unknown = JSON.parse(data);
    const delta = dig(event, 'choices', 0, 'delta');
    const error = delta === undefined || dig(event, 'error') ? errorOf(event) : undefined;
    if (error !== undefined) return { error };
    return {
      ...facts(event, visibleText(delta)),
      ...(reasoningOf(delta) !== '' && { isThought: true }),
      // Some servers close without [DONE].
      ...endOf(event),
    };
  },
  readAnswer(body) {
    const message = dig(body, 'choices', 0, 'message');
    const error = errorOf(body);
    if (error !== undefined) return { error };
    return { ...facts(body, visibleText(message)), ...endOf(body), isEnd: message !== undefined };
  },
  readError: errorType,
};

function endOf(answer: unknown): EventFacts {
  const word = digText(answer, 'choices', 0, 'finish_reason');
  if (!word) return {};
  return { isEnd: true, ...(failures.has(word.toLowerCase()) && { error: word }) };
}

function facts(event: unknown, text: string): EventFacts {
  const outputTokens = digCount(event, 'usage', 'completion_tokens');
  const thoughtTokens = digCount(event, 'usage', 'completion_tokens_details', 'reasoning_tokens');
  return {
    text,
    ...(outputTokens !== undefined && { outputTokens }),
    ...(thoughtTokens !== undefined && { thoughtTokens }),
  };
}

/** Mistral and Databricks send a list of parts instead of a text where there are thoughts. */
function reasoningOf(message: unknown): string {
  const told = digText(message, 'reasoning_content') || digText(message, 'reasoning');
  if (told) return told;
  const content = dig(message, 'content');
  if (!Array.isArray(content)) return '';
  const thoughts = content.flatMap((part) => [...digList(part, 'thinking'), ...digList(part, 'summary')]);
  return thoughts.map(textOf).join('');
}

function contentOf(message: unknown): string {
  return digText(message, 'content') ?? digList(message, 'content').map(textOf).join('');
}

function textOf(part: unknown): string {
  return digText(part, 'text') ?? '';
}

function visibleText(message: unknown): string {
  const calls = digList(message, 'tool_calls').map(
    (call) => (digText(call, 'function', 'name') ?? '') + (digText(call, 'function', 'arguments') ?? ''),
  );
  const said = contentOf(message) + (digText(message, 'refusal') ?? '');
  return reasoningOf(message) + said + calls.join('');
}

/** The type of an error that stands where an answer should; absent if there is none. */
function errorOf(body: unknown): string | undefined {
  // Some versions of vLLM mark an error object that has no wrapper.
  const isError = dig(body, 'error') || dig(body, 'object') === 'error';
  return isError ? (errorType(body) ?? 'error') : undefined;
}

function errorType(body: unknown): string | undefined {
  const error = dig(body, 'error') ?? body;
  // An empty field is none: some servers fill every field of an object.
  return digText(error, 'code') || digText(error, 'type') || undefined;
}
