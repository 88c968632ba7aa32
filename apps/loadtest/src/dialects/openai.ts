import type { Dialect, EventFacts } from './dialect.ts';
import { dig, digCount, digList, digText } from './dig.ts';

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
    // Some versions of vLLM mark an error object that has no wrapper.
    if (dig(event, 'error') || (delta === undefined && dig(event, 'object') === 'error'))
      return { error: errorType(event) ?? 'error' };
    return {
      ...facts(event, visibleText(delta)),
      ...(reasoningOf(delta) !== '' && { isThought: true }),
      // Some servers close without [DONE].
      ...(digText(event, 'choices', 0, 'finish_reason') && { isEnd: true }),
    };
  },
  readAnswer(body) {
    const message = dig(body, 'choices', 0, 'message');
    return { ...facts(body, visibleText(message)), isEnd: message !== undefined };
  },
  readError: errorType,
};

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
  const told = digText(message, 'reasoning_content') ?? digText(message, 'reasoning');
  if (told !== undefined) return told;
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

function errorType(body: unknown): string | undefined {
  const error = dig(body, 'error') ?? body;
  return digText(error, 'code') ?? digText(error, 'type');
}
