import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { isThinkingBlock } from './thinking-block.ts';

/**
 * Matches what DeepSeek's and MiniMax's servers sign with: an id or a hash. Claude's signatures are longer and not made
 * of hexadecimal digits.
 */
const plainSignature = /^[\da-f-]{32,64}$/i;

/** Whether a signature is certainly not Claude's, which refuses thinking that another model signed. */
export function isForeignSignature(signature: Json): boolean {
  return typeof signature === 'string' && plainSignature.test(signature);
}

const refusesSignature = /\bsignature\b/i;
const namedTurn = /\bmessages\.(\d+)\.content\b/;

/**
 * The body without thinking that this server refuses because another one signed it. Thinking of the step that the model
 * is in stays, unless it is what is refused: it may be missed. Absent if the refusal is about something else.
 */
export function withoutForeignThinking(body: JsonObject, refusal: string): JsonObject | undefined {
  const { messages, thinking, ...rest } = body;
  if (!refusesSignature.test(refusal) || !Array.isArray(messages)) return undefined;
  const start = messages.findLastIndex(saysSomethingNew);
  const named = namedTurn.exec(refusal)?.[1];
  const isOfPast = named !== undefined && Number(named) < start;
  const end = isOfPast ? start : messages.length;
  const said = messages.flatMap((turn, index) => (index < end ? withoutThinking(turn) : [turn]));
  const isSame = said.length === messages.length && said.every((turn, index) => turn === messages[index]);
  if (isSame) return undefined;
  // With a budget, a step that goes on after calls has to begin with thinking.
  const isMissed =
    !isOfPast && start < messages.length - 1 && isJsonObject(thinking) && thinking.type === 'enabled';
  return { ...rest, messages: said, ...(thinking !== undefined && !isMissed && { thinking }) };
}

/** Whether a turn is of the user, and not only of results. */
function saysSomethingNew(turn: Json): boolean {
  if (!isJsonObject(turn) || turn.role !== 'user') return false;
  const { content } = turn;
  return (
    !Array.isArray(content) || !content.some((block) => isJsonObject(block) && block.type === 'tool_result')
  );
}

/** The turn, if something else than thinking is left of it. One without thinking stays the same object. */
export function withoutThinking(turn: Json): Json[] {
  if (!isJsonObject(turn) || turn.role !== 'assistant' || !Array.isArray(turn.content)) return [turn];
  const { content } = turn;
  const kept = content.filter((block) => !isThinkingBlock(block));
  if (kept.length === content.length) return [turn];
  return kept.length === 0 ? [] : [{ ...turn, content: kept }];
}
