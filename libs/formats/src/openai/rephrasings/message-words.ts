import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { inTemplateOrder } from '../turn-order.ts';
import { saysUnknown } from './setting-words.ts';

/** How servers say that thinking is missing. */
const isMissed = /missing|passed back/i;

/** The names of thinking, as refusals say them. */
const thinkingNames = [
  { name: 'reasoning_content', isNamed: /reasoning_content/ },
  { name: 'reasoning', isNamed: /\breasoning\b/ },
];

/** With thinking in all answers or in none, as the refusal asks. */
export function withKnownThinking(body: JsonObject, refusal: string): JsonObject | undefined {
  for (const { name, isNamed } of thinkingNames) {
    const other = isNamed.test(refusal) ? rethink(body, name, refusal) : undefined;
    if (other) return other;
  }
  return undefined;
}

/**
 * Removes thinking under this name from all answers or, if it is missing, adds it to each, if only empty: a client may
 * have the thinking of another model or none. DeepSeek also says that it is missing if an answer's text is null beside
 * its thinking.
 */
function rethink(body: JsonObject, name: string, refusal: string): JsonObject | undefined {
  const answers = Array.isArray(body.messages) ? body.messages.filter(isAnswer) : [];
  const isRefused = saysUnknown(refusal) && answers.some((answer) => answer[name] !== undefined);
  const isLacking = (answer: JsonObject) => answer[name] === undefined || answer.content === null;
  const isWanted = isMissed.test(refusal) && answers.some(isLacking);
  if (!Array.isArray(body.messages) || (!isRefused && !isWanted)) return undefined;
  const messages = body.messages.map((message) => {
    if (!isAnswer(message)) return message;
    const { [name]: thinking = '', ...said } = message;
    return isRefused ? said : { ...said, content: said.content ?? '', [name]: thinking };
  });
  return { ...body, messages };
}

function isAnswer(message: Json): message is JsonObject {
  return isJsonObject(message) && message.role === 'assistant';
}

function withMessages(
  body: JsonObject,
  say: (messages: readonly Json[]) => readonly Json[] | undefined,
): JsonObject | undefined {
  const messages = Array.isArray(body.messages) ? say(body.messages) : undefined;
  return messages && { ...body, messages: [...messages] };
}

/** Replaces each message by what `say` returns; a message stays if `say` returns nothing. Absent when all stay. */
export function eachMessage(
  body: JsonObject,
  say: (message: JsonObject) => JsonObject | undefined,
): JsonObject | undefined {
  return withMessages(body, (messages) => {
    const said = messages.map((message) => (isJsonObject(message) ? (say(message) ?? message) : message));
    return said.some((message, index) => message !== messages[index]) ? said : undefined;
  });
}

/** With the messages in an order that suits the model's template. */
export function withTemplateOrder(body: JsonObject, refusal: string): JsonObject | undefined {
  return withMessages(body, (messages) => inTemplateOrder(messages, refusal));
}

/** How servers refuse a role: by its name, or (Zhipu, and servers that validate with a schema) without it. */
const refusesRole =
  /\bdeveloper\b|\bincorrect role information\b|角色信息不正确|\brole: input should be '(?:system|user|assistant)'/i;

/** With instructions in the role that every server knows for them. */
export function withOlderRole(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!refusesRole.test(refusal)) return undefined;
  return eachMessage(body, (message) =>
    message.role === 'developer' ? { ...message, role: 'system' } : undefined,
  );
}

const wantsString = new RegExp(
  [
    'expected a string(?! with)|a valid string|(?:must|to) be a string',
    // Qwen and SambaNova.
    "\\bcontent field's type should be `str`|'content' type\\. expected one of: \\['str'\\]",
    // Cloudflare, of parts or of null.
    "\\btype mismatch of '/messages/\\d+/content'",
    // Of null: Ollama, Text Generation Inference, Together and older FastAPI.
    '\\binvalid message content type: <nil>|\\bmissing field `content`|\\buntagged enum MessageContent\\b',
    '\\bcontent: none is not an allowed value',
  ].join('|'),
  'i',
);

/**
 * With text in parts joined to one string, and an empty one for a call without text. Content that holds more than text
 * stays.
 */
export function withPlainText(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!wantsString.test(refusal)) return undefined;
  return eachMessage(body, ({ content, ...message }) => {
    if (content === null) return { ...message, content: '' };
    if (!Array.isArray(content) || !content.every(isText)) return undefined;
    return { ...message, content: content.map(({ text }) => text).join('\n\n') };
  });
}

function isText(part: Json): part is JsonObject & { text: string } {
  return isJsonObject(part) && part.type === 'text' && typeof part.text === 'string';
}

/** How xAI says that a message has to have a content. Beside a call, an empty string will do. */
const wantsElement = /\bat least one (?:non-empty )?content element\b/i;
/** How Moonshot, Mistral and DeepSeek say that an answer has to say something. */
const wantsContent =
  /\brole 'assistant' must not be empty\b|\beither content or tool_calls\b|\bcontent or tool_calls must be set\b/i;

/** Without the answers that say nothing, as clients keep of an answer that ended in its thoughts. */
export function withoutEmptyAnswers(body: JsonObject, refusal: string): JsonObject | undefined {
  const isOfElement = wantsElement.test(refusal);
  if (!isOfElement && !wantsContent.test(refusal)) return undefined;
  const spoken = withMessages(body, (messages) => {
    const said = messages.filter((message) => !isAnswer(message) || !isEmpty(message));
    return said.length === messages.length ? undefined : said;
  });
  return isOfElement ? (eachMessage(spoken ?? body, withContent) ?? spoken) : spoken;
}

function withContent({ content, ...message }: JsonObject): JsonObject | undefined {
  const isAbsent = content === undefined || content === null;
  return isAbsent || (Array.isArray(content) && content.length === 0)
    ? { ...message, content: '' }
    : undefined;
}

function isEmpty({ content, tool_calls: calls }: JsonObject): boolean {
  const hasCalls = Array.isArray(calls) && calls.length > 0;
  const isSilent = content === undefined || content === null || content === '';
  return !hasCalls && (isSilent || (Array.isArray(content) && content.length === 0));
}

/** With results that name their call by its id only. */
export function withoutFunctionNames(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!/only messages? of role \W?user\W? can have a name/i.test(refusal)) return undefined;
  return eachMessage(body, ({ name, ...message }) =>
    message.role === 'tool' && name !== undefined ? message : undefined,
  );
}
