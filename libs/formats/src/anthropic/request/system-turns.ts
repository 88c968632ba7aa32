import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/**
 * Where the system turns end that a later turn of the user has cleared. A coding tool keeps its reminders in the
 * conversation, and the model is to see each only until the user speaks again.
 */
export function endOfCleared(turns: readonly Json[]): number {
  return turns.findLastIndex((turn) => isJsonObject(turn) && turn.role === 'user');
}

/** Whether the turn is one that a later turn of the user clears. */
export function isClearable({ role, clear_at: when }: JsonObject): boolean {
  return role === 'system' && when === 'next_user_message';
}

/**
 * The body for a server that knows no more of a system turn than its text: without what is cleared, and without what
 * says nothing then. `role`: who says the rest. Absent if there is nothing to change.
 */
export function withPlainSystemTurns(body: JsonObject, role: 'system' | 'user'): JsonObject | undefined {
  const { messages } = body;
  if (!Array.isArray(messages)) return undefined;
  const end = endOfCleared(messages);
  const said = messages.flatMap((turn, index) => {
    if (!isJsonObject(turn) || turn.role !== 'system') return [turn];
    const { clear_at: _when, output_config: _config, ...rest } = turn;
    const isEmpty = !Array.isArray(rest.content) ? rest.content === undefined : rest.content.length === 0;
    if (isEmpty || (isClearable(turn) && index < end)) return [];
    const isPlain = role === 'system' && Object.keys(rest).length === Object.keys(turn).length;
    return [isPlain ? turn : { ...rest, role }];
  });
  const isSame = said.length === messages.length && said.every((turn, index) => turn === messages[index]);
  return isSame ? undefined : { ...body, messages: said };
}
