import { isJsonObject, type Json, type Message, type Opaque } from '@sluice/canonical';
import { placed } from '../../places.ts';
import { FORMAT } from '../wire.ts';

/**
 * An order for a summary in place of an answer. It is part of the conversation, so that a server that cannot make a
 * summary refuses it. As a mere option it could be ignored, and the client would take an ordinary answer for its
 * summary.
 */
export function compactionOrder(compaction: Json): Message {
  const part: Opaque = { type: 'opaque', format: FORMAT, value: { compaction } };
  return { role: 'system', content: [placed(part, 'compaction')] };
}

/**
 * Takes the order out of the conversation. An empty message stays in its place, so that the others keep their numbers.
 */
export function takeCompaction(messages: readonly Message[]): {
  messages: readonly Message[];
  compaction?: Json;
} {
  const [first, ...others] = messages;
  const part = first?.role === 'system' ? first.content[0] : undefined;
  if (part?.type !== 'opaque' || part.format !== FORMAT || !isJsonObject(part.value)) return { messages };
  const { compaction } = part.value;
  return compaction === undefined
    ? { messages }
    : { messages: [{ role: 'system', content: [] }, ...others], compaction };
}
