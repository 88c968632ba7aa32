import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { wantsOneThought } from '../../failures/upstream-words.ts';
import { eachMessage } from './message-words.ts';

const thinkingFields = ['reasoning_content', 'reasoning'];

/** With what an answer says before its calls at the end of its thoughts. */
export function withOneThought(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!wantsOneThought(refusal)) return undefined;
  return eachMessage(body, (message) => {
    const { role, content, tool_calls: calls } = message;
    const text = textOf(content);
    if (role !== 'assistant' || !Array.isArray(calls) || calls.length === 0 || !text) return undefined;
    const thoughts = thinkingFields.flatMap((name) => {
      const thought = message[name];
      return typeof thought === 'string' && thought !== '' ? [[name, `${thought}\n\n${text}`]] : [];
    });
    return thoughts.length === 0 ? undefined : { ...message, content: '', ...Object.fromEntries(thoughts) };
  });
}

/** The text of a content that holds nothing else. */
function textOf(content: Json | undefined): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part) => (isJsonObject(part) && part.type === 'text' ? part.text : undefined));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : undefined;
}
