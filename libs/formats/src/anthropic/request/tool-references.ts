import { extend, type JsonObject, type Message, type TextPart } from '@sluice/canonical';
import { FORMAT } from '../wire.ts';

/**
 * Reads what a search for tools has found: the name of a tool that was declared but not shown, and that the model may
 * call from here on. Servers of other dialects are told so in words; see `foundTools`.
 */
export function decodeReference(block: JsonObject): TextPart {
  return {
    type: 'text',
    text: `The tool ${String(block.tool_name)} can be called now.`,
    ...extend(FORMAT, block),
  };
}

/** Whether these fields of a text are the whole block of a found tool: no text of a client keeps its type. */
export function isReference({ type }: JsonObject): boolean {
  return type === 'tool_reference';
}

/** The names of the tools that the searches of a conversation have found. */
export function foundTools(messages: readonly Message[]): Set<string> {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'tool') continue;
    for (const part of message.content.flatMap(({ content }) => content)) {
      const own = part.type === 'text' ? (part.extensions?.[FORMAT] ?? {}) : {};
      if (isReference(own) && typeof own.tool_name === 'string') names.add(own.tool_name);
    }
  }
  return names;
}
