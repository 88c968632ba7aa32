import { isJsonObject, type Json, type Message, type Opaque } from '@sluice/canonical';
import { placed } from '../../places.ts';
import { FORMAT } from '../kept.ts';

/** A cached prompt is content that only its own server holds, so it must not get lost like a mere option. */
export function cachedPrompt(cachedContent: string): Message {
  const part: Opaque = { type: 'opaque', format: FORMAT, value: { cachedContent } };
  return { role: 'system', content: [placed(part, 'cachedContent')] };
}

/**
 * Takes the cached prompt out of the conversation. An empty message stays in its place, so that the others keep their
 * numbers.
 */
export function takeCachedPrompt(messages: readonly Message[]): {
  messages: readonly Message[];
  cachedContent?: Json;
} {
  const [first, ...others] = messages;
  const part = first?.role === 'system' ? first.content[0] : undefined;
  if (part?.type !== 'opaque' || part.format !== FORMAT || !isJsonObject(part.value)) return { messages };
  const { cachedContent } = part.value;
  return cachedContent === undefined
    ? { messages }
    : { messages: [{ role: 'system', content: [] }, ...others], cachedContent };
}
