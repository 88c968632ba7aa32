import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Words of the templates of models, which servers pass on: Qwen's, Mistral's, Gemma's and others'. */
const wantsSystemFirst = /system messages? must|(?:unexpected|last) role\b[^.]*\bsystem\b|\bgot system\b/i;
const wantsTurns = /\broles must alternate\b/i;
const wantsNoSystem = /\bsystem role (?:is )?not supported\b/i;

/** Whether a refusal is of the order or of the roles of a conversation. */
export function saysWrongOrder(refusal: string): boolean {
  return [wantsSystemFirst, wantsTurns, wantsNoSystem].some((words) => words.test(refusal));
}

/**
 * The messages in an order that a model's template takes which refused them: with one system message at their head, what
 * the system says later being said by the user at its place; with turns that alternate; or without the system. Absent: the
 * refusal is of something else, or they are so already.
 */
export function inTemplateOrder(messages: readonly Json[], refusal: string): readonly Json[] | undefined {
  const ordered = order(messages, refusal);
  const isSame =
    ordered.length === messages.length && ordered.every((message, at) => message === messages[at]);
  return isSame ? undefined : ordered;
}

function order(messages: readonly Json[], refusal: string): readonly Json[] {
  if (wantsNoSystem.test(refusal)) return joined(messages.map(asUser), isTurn);
  if (wantsTurns.test(refusal)) return joined(joined(saidByUser(messages), isSystem), isTurn);
  return wantsSystemFirst.test(refusal) ? joined(saidByUser(messages), isSystem) : messages;
}

/** With those of the system that do not stand at the head as the user's. */
function saidByUser(messages: readonly Json[]): Json[] {
  const found = messages.findIndex((message) => !isSystem(message));
  return messages.map((message, index) => (found !== -1 && index > found ? asUser(message) : message));
}

function asUser(message: Json): Json {
  return isSystem(message) ? { ...message, role: 'user' } : message;
}

/** With neighbours of one role as one message, where they are of the kind. */
function joined(messages: readonly Json[], isJoinable: (message: Json) => message is JsonObject): Json[] {
  const groups: [first: Json, ...rest: JsonObject[]][] = [];
  for (const message of messages) {
    const group = groups.at(-1);
    const first = group?.[0];
    const canJoin =
      first !== undefined && isJoinable(first) && isJoinable(message) && first.role === message.role;
    if (canJoin) group?.push(message);
    else groups.push([message]);
  }
  // Each group at once: a client may send thousands in a row.
  return groups.map(([first, ...rest]) =>
    rest.length > 0 && isJsonObject(first) ? { ...first, content: together([first, ...rest]) } : first,
  );
}

function isSystem(message: Json): message is JsonObject {
  return isJsonObject(message) && (message.role === 'system' || message.role === 'developer');
}

/** What calls nothing can be joined to what stands beside it. */
function isTurn(message: Json): message is JsonObject {
  return (
    isJsonObject(message) &&
    (message.role === 'user' || message.role === 'assistant') &&
    message.tool_calls === undefined
  );
}

/** Strings make one string, up to the first that is said in parts. */
function together(messages: readonly JsonObject[]): Json {
  const contents = messages.map(({ content }) => content);
  const found = contents.findIndex((content) => typeof content !== 'string');
  if (found === -1) return contents.join('\n\n');
  return [contents.slice(0, found).join('\n\n'), ...contents.slice(found)].flatMap(partsOf);
}

function partsOf(content: Json | undefined): Json[] {
  if (Array.isArray(content)) return content;
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
}
