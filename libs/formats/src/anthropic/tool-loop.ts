import {
  type AssistantPart,
  isJsonObject,
  type Json,
  type JsonObject,
  type Message,
} from '@sluice/canonical';
import type { Reader } from '../reader.ts';
import { isClaude } from './claude-models.ts';
import { isThinkingBlock } from './thinking-block.ts';

/**
 * Whether the model is to continue after the results of its calls, in a turn whose thinking got lost or that another
 * model made without any: servers refuse a thinking budget there. If a client of this dialect left the thinking out
 * itself, its request stays as it is.
 */
export function isMidLoop(
  messages: readonly Message[],
  encoded: readonly JsonObject[],
  { model, isForeign }: Reader,
): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  if (!messages.slice(last + 1).some(({ role }) => role === 'tool')) return false;
  const isNotItsOwn = (part: AssistantPart) =>
    part.type === 'reasoning' || (part.type === 'tool-call' && isClaude(model) && !ownId.test(part.id));
  const answer = messages[last];
  const hasChanged = answer?.role === 'assistant' && answer.content.some(isNotItsOwn);
  if (!isForeign && !hasChanged) return false;
  const content = encoded.findLast(({ role }) => role === 'assistant')?.content;
  return Array.isArray(content) && !isThinkingBlock(content[0]) && content.some(isCall);
}

/** Matches the ids of calls made by Claude, wherever it runs. */
const ownId = /^toolu_/;

function isCall(block: Json): boolean {
  return isJsonObject(block) && block.type === 'tool_use';
}
