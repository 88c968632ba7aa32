import { isJsonObject, type Json, type Message, type Opaque } from '@sluice/canonical';
import { placed } from '../places.ts';
import { format } from './wire.ts';

/**
 * The order of a summary in place of an answer. It stands in the conversation, so that a server which can't make one
 * refuses it: passed over as a mere option, it would bring an answer that the client takes for its summary.
 */
export function compactionOrder(compaction: Json): Message {
  const part: Opaque = { type: 'opaque', format, value: { compaction } };
  return { role: 'system', content: [placed(part, 'compaction')] };
}

/** The order, and the conversation with nothing at its place: its messages keep their numbers. */
export function takeCompaction(messages: readonly Message[]): {
  messages: readonly Message[];
  compaction?: Json;
} {
  const [first, ...others] = messages;
  const part = first?.role === 'system' ? first.content[0] : undefined;
  if (part?.type !== 'opaque' || part.format !== format || !isJsonObject(part.value)) return { messages };
  const { compaction } = part.value;
  return compaction === undefined
    ? { messages }
    : { messages: [{ role: 'system', content: [] }, ...others], compaction };
}
