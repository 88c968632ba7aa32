import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/**
 * Unsigned thinking. The dialect demands the field `signature`: servers that sign nothing accept it empty, and some
 * accept nothing else.
 */
export function unsigned(thinking: string): JsonObject {
  return { type: 'thinking', thinking, signature: '' };
}

/** Whether a block of the wire is thinking, readable or not. */
export function isThinkingBlock(block: Json | undefined): block is JsonObject {
  return isJsonObject(block) && (block.type === 'thinking' || block.type === 'redacted_thinking');
}
