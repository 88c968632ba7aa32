import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/**
 * Words of models' templates, which servers pass on (Qwen's, Mistral's, Gemma's and others'), and of the APIs of
 * Perplexity and MiniMax. They stand near each other: a search to the end from each beginning would take n² steps.
 */
const wantsSystemFirst = new RegExp(
  [
    'system messages? must|(?:unexpected|last) role\\b[^.]{0,200}\\bsystem\\b|\\bgot system\\b',
    '\\bexception of an initial optional system message\\b',
    '\\bmessage role: system\\b|\\binvalid chat setting\\b',
  ].join('|'),
  'i',
);
const wantsTurns = /\broles must alternate\b|\bshould alternate with assistant\b/i;
const wantsNoSystem = /\bsystem role (?:is )?not supported\b/i;
const wantsAnswer = /\brole \W?user\W? after role \W?tool\b/i;

/** Whether a refusal is about the order or the roles of a conversation. */
export function saysWrongOrder(refusal: string): boolean {
  return [wantsSystemFirst, wantsTurns, wantsNoSystem, wantsAnswer].some((words) => words.test(refusal));
}

/**
 * The messages in an order that suits the model's template which refused them: with a single system message at the head
 * and later ones said by the user in their place; with alternating turns, begun by the user; without system messages;
 * or with an answer between results and what the user adds to them. Absent if the refusal is about something else, or
 * the order is already so.
 */
export function inTemplateOrder(messages: readonly Json[], refusal: string): readonly Json[] | undefined {
  const ordered = order(messages, refusal);
  const isSame =
    ordered.length === messages.length && ordered.every((message, at) => message === messages[at]);
  return isSame ? undefined : ordered;
}

function order(messages: readonly Json[], refusal: string): readonly Json[] {
  if (wantsNoSystem.test(refusal)) return joined(messages.map(asUser), isTurn);
  if (wantsAnswer.test(refusal)) return messages.flatMap(withAnswerBefore);
  if (wantsTurns.test(refusal))
    return joined(joined(inTurns(saidByUser(messages).map(inOlderRole)), isSystem), isTurn);
  return wantsSystemFirst.test(refusal) ? joined(saidByUser(messages), isSystem) : messages;
}

/** Turns system messages after the head into user messages. */
function saidByUser(messages: readonly Json[]): Json[] {
  const found = messages.findIndex((message) => !isSystem(message));
  return messages.map((message, index) => (found !== -1 && index > found ? asUser(message) : message));
}

/** Templates of such models know instructions in this role only. */
function inOlderRole(message: Json): Json {
  return isSystem(message) && message.role !== 'system' ? { ...message, role: 'system' } : message;
}

/**
 * Begun by the user, and with an answer after results that the user adds to: templates do not count calls and results,
 * so the user would speak twice.
 */
function inTurns(messages: readonly Json[]): Json[] {
  const first = messages.findIndex((message) => !isSystem(message));
  const isBegun = !hasRole(messages[first], 'assistant');
  const opening = isBegun ? [] : [{ role: 'user', content: '…' }];
  const head = Math.max(first, 0);
  return [...messages.slice(0, head), ...opening, ...messages.slice(head)].flatMap(withAnswerBefore);
}

/** The message, preceded by an answer if it is the user's and follows a result. */
function withAnswerBefore(message: Json, index: number, messages: readonly Json[]): Json[] {
  const isAfterResult = hasRole(messages[index - 1], 'tool') && hasRole(message, 'user');
  return isAfterResult ? [{ role: 'assistant', content: 'OK.' }, message] : [message];
}

function hasRole(message: Json | undefined, role: string): boolean {
  return isJsonObject(message) && message.role === role;
}

function asUser(message: Json): Json {
  return isSystem(message) ? { ...message, role: 'user' } : message;
}

/** Joins adjacent joinable messages of the same role into one. */
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

/** Whether a message holds instructions, under either name of the role. */
export function isSystem(message: Json): message is JsonObject {
  return isJsonObject(message) && (message.role === 'system' || message.role === 'developer');
}

/** Only turns without calls can be joined to their neighbours. */
function isTurn(message: Json): message is JsonObject {
  return (
    isJsonObject(message) &&
    (message.role === 'user' || message.role === 'assistant') &&
    message.tool_calls === undefined
  );
}

/** Strings become one string, up to the first content in parts. */
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
