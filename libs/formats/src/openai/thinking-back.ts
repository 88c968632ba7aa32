import type { JsonObject } from '@sluice/canonical';
import { isGpt } from './gpt-models.ts';

/** DeepSeek's API thinks unless told not to, and then refuses a conversation in which an answer lacks what led to it. */
const asksForThinking = /deepseek-(?:v[4-9]|flash|pro|reasoner)/i;

/**
 * The messages of a body with what was thought as the model takes it back. A client can't know that even where it speaks
 * the dialect: the answers before may be another model's, and a thought of no characters leaves no trace here, which is one
 * to DeepSeek.
 */
export function thoughtAsTaken(messages: JsonObject[], model: string): JsonObject[] {
  if (isGpt(model)) return messages.map(({ reasoning_content: _thinking, ...message }) => message);
  if (!asksForThinking.test(model)) return messages;
  return messages.map((message) =>
    message.role === 'assistant' ? { reasoning_content: '', ...message } : message,
  );
}
