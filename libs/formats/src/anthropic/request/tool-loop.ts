import {
  type AssistantPart,
  extensionsOf,
  type InferenceRequest,
  isJsonObject,
  type Json,
  type JsonObject,
  type Message,
} from '@sluice/canonical';
import type { Reader } from '../../reader.ts';
import { isForeignSignature } from '../thinking/foreign-thinking.ts';
import { isThinkingBlock } from '../thinking/thinking-block.ts';
import { FORMAT } from '../wire.ts';
import { isClaude } from './claude-models.ts';

/**
 * Whether the model is to continue after the results of its calls, in a turn whose thinking got lost or that another
 * model made without any: servers refuse a thinking budget there. If a client of this dialect left the thinking out
 * itself and asks for a budget, its request stays as it is. One that lets the model choose cannot know of the budget
 * that older models get instead, and newer ones may well have begun without a thought.
 */
export function isMidLoop(
  { messages, reasoning }: Pick<InferenceRequest, 'messages' | 'reasoning'>,
  encoded: readonly JsonObject[],
  { model, isForeign }: Reader,
): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  if (!messages.slice(last + 1).some(({ role }) => role === 'tool')) return false;
  const isNotItsOwn = (part: AssistantPart) =>
    isUnsigned(part) || (part.type === 'tool-call' && isClaude(model) && !ownId.test(part.id));
  // Once it has gone on without, each of its next steps is without, too.
  const loop = messages.slice(messages.findLastIndex(isQuestion) + 1);
  const hasChanged = loop.some(({ role, content }) => role === 'assistant' && content.some(isNotItsOwn));
  const isBudgetOurs = reasoning?.budgetTokens === undefined;
  const first = loop.find(({ role }) => role === 'assistant')?.content[0];
  const isUnthought = isBudgetOurs && first?.type !== 'reasoning';
  if (!isForeign && !hasChanged && !isUnthought) return false;
  const content = encoded.findLast(({ role }) => role === 'assistant')?.content;
  return Array.isArray(content) && !isThinkingBlock(content[0]) && content.some(isCall);
}

/** Whether a part is thinking that Claude did not sign. */
function isUnsigned(part: AssistantPart): boolean {
  if (part.type !== 'reasoning') return false;
  const { data, signature = data } = extensionsOf(part, FORMAT) ?? {};
  return signature === undefined || isForeignSignature(signature);
}

/** Whether a message is the user's, and not what the user adds to results. */
function isQuestion({ role }: Message, index: number, messages: readonly Message[]): boolean {
  return role === 'user' && messages[index - 1]?.role !== 'tool';
}

/** Matches the ids of calls made by Claude, wherever it runs. */
const ownId = /^toolu_/;

function isCall(block: Json): boolean {
  return isJsonObject(block) && block.type === 'tool_use';
}
