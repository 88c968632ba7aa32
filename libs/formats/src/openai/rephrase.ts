import { createHash } from 'node:crypto';
import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { withKnownEffort } from './effort-words.ts';
import { withJsonWords } from './json-words.ts';
import { withTextFiles } from './text-files.ts';
import { inTemplateOrder } from './turn-order.ts';

/** How servers say that they do not accept a field or value. */
const isUnknown = new RegExp(
  [
    'unsupported|unexpected|unknown|unrecogni[sz]ed|incompatible',
    'not (?:support(?:ed)?|permitted|allowed)\\b|only \\S+ is allowed',
  ].join('|'),
  'i',
);
/** How they say that one is missing. */
const isMissed = /missing|passed back/i;

/** Rewrites the body. Absent if the refusal is about something else, or the body has nothing of the kind. */
type Rephrasing = (body: JsonObject, refusal: string) => JsonObject | undefined;

const rephrasings: readonly Rephrasing[] = [
  withoutStreamOptions,
  withoutStream,
  withNewerLimit,
  (body, refusal) =>
    refusal.includes('reasoning_content') ? rethink(body, 'reasoning_content', refusal) : undefined,
  (body, refusal) => (/\breasoning\b/.test(refusal) ? rethink(body, 'reasoning', refusal) : undefined),
  withOlderRole,
  (body, refusal) => withMessages(body, (messages) => inTemplateOrder(messages, refusal)),
  withPlainText,
  withoutFunctionNames,
  withShortIds,
  (body, refusal) => withoutWord(body, 'top_k', refusal),
  (body, refusal) => withoutWord(body, 'parallel_tool_calls', refusal),
];
/** For a client of another format. */
const foreignRephrasings: readonly Rephrasing[] = [
  ...rephrasings,
  withKnownEffort,
  withJsonWords,
  withFreeChoice,
  withTextFiles,
  withoutSetting,
];

/**
 * The body changed to suit a server of this dialect that refused it with these words:
 * - `max_completion_tokens`: Azure's deployments have arbitrary names, so we cannot know which model accepts only that.
 * - `stream_options`: older versions at Azure and some other servers do not know it.
 * - streams: OpenAI wants to know an organization before it streams some models to it, and Groq streams no answer by a
 *   schema. Both give the whole answer.
 * - `top_k` and thinking: not part of any version of the dialect. Many servers accept both; Groq, Cerebras and Mistral
 *   refuse one or both names of thinking; DeepSeek demands the thinking of every answer.
 * - the role `developer`, text in parts and no text beside a call: not known everywhere; and models' templates have
 *   rules of their own.
 * - the name of a result's function, which clients of generate content tell: xAI's API refuses it.
 * - `parallel_tool_calls`: OpenAI's `o` models do not accept it. We cut their answers to one call ourselves.
 * - an effort, a schema of the answer, a forced call, a text file, and settings that an answer can do without: only for a
 *   client of another format (`isForeign`), which cannot know that Mistral refuses `user`, that DeepSeek and Qwen force no
 *   call while they think, that OpenAI takes no files but PDF, or which model is behind the name of an Azure deployment.
 * Absent if the refusal is about none of these.
 */
export function rephrase(body: JsonObject, refusal: string, isForeign: boolean): JsonObject | undefined {
  for (const rephrasing of isForeign ? foreignRephrasings : rephrasings) {
    const other = rephrasing(body, refusal);
    if (other) return other;
  }
  return undefined;
}

function withoutStreamOptions(body: JsonObject, refusal: string): JsonObject | undefined {
  const { stream_options: options, ...rest } = body;
  return options !== undefined && refusal.includes('stream_options') ? rest : undefined;
}

const refusesStream = new RegExp(
  [
    '\\bverified to stream\\b',
    "\\bnot support stream(?:ing)?\\b|'stream' does not support",
    '\\bstreaming\\b[^.]{0,40}\\bnot (?:currently )?supported\\b',
  ].join('|'),
  'i',
);
const isOfJson = /\bresponse_format\b|\bjson|\bstructured output/i;
const isOfTools = /\btools?\b/i;

/** Asks for a whole answer, which is all that a refusal of the stream leaves. */
function withoutStream(body: JsonObject, refusal: string): JsonObject | undefined {
  const { stream, stream_options: _options, ...whole } = body;
  if (stream !== true || !refusesStream.test(refusal)) return undefined;
  if (isOfJson.test(refusal)) return body.response_format === undefined ? undefined : whole;
  return isOfTools.test(refusal) && body.tools === undefined ? undefined : whole;
}

function withNewerLimit(body: JsonObject, refusal: string): JsonObject | undefined {
  const { max_tokens: limit, ...rest } = body;
  if (limit === undefined || !refusal.includes('max_completion_tokens')) return undefined;
  return { ...rest, max_completion_tokens: limit };
}

function withoutWord(body: JsonObject, word: string, refusal: string): JsonObject | undefined {
  const { [word]: refused, ...known } = body;
  return refused !== undefined && refusal.includes(word) && isUnknown.test(refusal) ? known : undefined;
}

/** How a refusal names the one way to force a call that it is about: any function, or a certain one. */
const refusedForce = /\btool_choice\W{1,4}(required|specified)\b/i;

/** With a call left to the model that was forced to it. */
function withFreeChoice(body: JsonObject, refusal: string): JsonObject | undefined {
  const { tool_choice: choice, ...rest } = body;
  const isForced = choice !== undefined && choice !== 'auto' && choice !== 'none';
  if (!isForced || !/\btool_choice\b/.test(refusal) || !isUnknown.test(refusal)) return undefined;
  const way = choice === 'required' ? 'required' : 'specified';
  const refused = refusedForce.exec(refusal)?.[1]?.toLowerCase() ?? way;
  return refused === way ? rest : undefined;
}

/** How refusals name a setting: quoted, before or after a colon, and in camel case (xAI). `user` is also a role. */
function named(setting: string): RegExp {
  const name = setting.replace('_', '_?');
  return new RegExp(`(?:^|(?<!\\brole )["'\`]|body\\.|: |parameter |invalid )${name}(?:["'\`:]|\\.?$)`, 'i');
}

const dispensable = ['user', 'seed', 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty'].map(
  (setting) => ({ setting, isNamed: named(setting) }),
);
const namesStop = named('stop');

/** Whether a server says that it takes no stop strings, as xAI's models that reason do. */
export function refusesStops(refusal: string): boolean {
  return namesStop.test(refusal) && isUnknown.test(refusal);
}

function withoutSetting(body: JsonObject, refusal: string): JsonObject | undefined {
  const refused = dispensable.find(
    ({ setting, isNamed }) => body[setting] !== undefined && isNamed.test(refusal),
  );
  if (!refused || !isUnknown.test(refusal)) return undefined;
  const { [refused.setting]: _refused, ...accepted } = body;
  return accepted;
}

/**
 * Removes thinking under this name from all answers or, if it is missing, adds it to each, if only empty: a client may
 * have the thinking of another model or none. DeepSeek also says that it is missing if an answer's text is null beside
 * its thinking.
 */
function rethink(body: JsonObject, name: string, refusal: string): JsonObject | undefined {
  const answers = Array.isArray(body.messages) ? body.messages.filter(isAnswer) : [];
  const isRefused = isUnknown.test(refusal) && answers.some((answer) => answer[name] !== undefined);
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
function eachMessage(
  body: JsonObject,
  say: (message: JsonObject) => JsonObject | undefined,
): JsonObject | undefined {
  return withMessages(body, (messages) => {
    const said = messages.map((message) => (isJsonObject(message) ? (say(message) ?? message) : message));
    return said.some((message, index) => message !== messages[index]) ? said : undefined;
  });
}

/** With instructions in the role that every server knows for them. */
function withOlderRole(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!/\bdeveloper\b/.test(refusal)) return undefined;
  return eachMessage(body, (message) =>
    message.role === 'developer' ? { ...message, role: 'system' } : undefined,
  );
}

/**
 * With text in parts joined to one string, and an empty one for a call without text. Content that holds more than text
 * stays.
 */
function withPlainText(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!/expected a string|a valid string|(?:must|to) be a string/i.test(refusal)) return undefined;
  return eachMessage(body, ({ content, ...message }) => {
    if (content === null) return { ...message, content: '' };
    if (!Array.isArray(content) || !content.every(isText)) return undefined;
    return { ...message, content: content.map(({ text }) => text).join('\n\n') };
  });
}

function isText(part: Json): part is JsonObject & { text: string } {
  return isJsonObject(part) && part.type === 'text' && typeof part.text === 'string';
}

/** With results that name their call by its id only. */
function withoutFunctionNames(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!/only messages? of role \W?user\W? can have a name/i.test(refusal)) return undefined;
  return eachMessage(body, ({ name, ...message }) =>
    message.role === 'tool' && name !== undefined ? message : undefined,
  );
}

const shortId = /^[a-zA-Z0-9]{9}$/;

/** With call ids as Mistral's tokenizers accept them, whoever gave the ids. The mapping is deterministic. */
function withShortIds(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!/tool call id\b.*\blength of 9\b/i.test(refusal)) return undefined;
  return eachMessage(body, (message) => {
    const { tool_calls: calls, tool_call_id: id } = message;
    if (typeof id === 'string' && !shortId.test(id)) return { ...message, tool_call_id: shortened(id) };
    if (!Array.isArray(calls) || !calls.some(isLong)) return undefined;
    return {
      ...message,
      tool_calls: calls.map((call) => (isLong(call) ? { ...call, id: shortened(call.id) } : call)),
    };
  });
}

function isLong(call: Json): call is JsonObject & { id: string } {
  return isJsonObject(call) && typeof call.id === 'string' && !shortId.test(call.id);
}

function shortened(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}
