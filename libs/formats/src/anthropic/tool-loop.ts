import { isJsonObject, type Json, type JsonObject, type Message } from '@sluice/canonical';

/**
 * Whether the model is to go on after the results of its calls, in a turn of which the thinking got lost: servers
 * refuse a budget of thinking there. A client of this dialect that left the thinking out itself is said as it spoke.
 */
export function isMidLoop(
  messages: readonly Message[],
  encoded: readonly JsonObject[],
  isForeign: boolean,
): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  if (!messages.slice(last + 1).some(({ role }) => role === 'tool')) return false;
  const hadThinking = messages[last]?.content.some(({ type }) => type === 'reasoning');
  if (!isForeign && !hadThinking) return false;
  const content = encoded.findLast(({ role }) => role === 'assistant')?.content;
  return Array.isArray(content) && !isThinking(content[0]) && content.some(isCall);
}

function isThinking(block: Json | undefined): boolean {
  return isJsonObject(block) && (block.type === 'thinking' || block.type === 'redacted_thinking');
}

function isCall(block: Json): boolean {
  return isJsonObject(block) && block.type === 'tool_use';
}
