import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { wantsOneThought } from '../failures/upstream-words.ts';
import { hashedUser } from '../user-hash.ts';
import { withoutCacheMark } from './rephrasings/cache-words.ts';
import { inNewestDraft } from './rephrasings/newest-draft.ts';
import { withMediaApart } from './rephrasings/result-media.ts';
import {
  withKnownEffort,
  withKnownThinking,
  withoutNoThinking,
  withThinkingBudget,
} from './rephrasings/thinking-words.ts';
import { withPlainSystemTurns } from './request/system-turns.ts';
import { withoutThinking } from './thinking/foreign-thinking.ts';
import { isThinkingBlock, unsigned } from './thinking/thinking-block.ts';

/**
 * Refusals by servers that know only user and assistant turns: older Claude, Ollama (in the words of two libraries),
 * llama.cpp, schema validators, LM Studio, DeepSeek, Qwen and MiniMax.
 */
const wantsNoSystemTurn = new RegExp(
  [
    "unexpected role\\b|\\brole: (?:input should be|[^']{0,40}\\bexpected) 'user'|system messages? must",
    "\\brole\\b.{0,80}\\bsystem\\b|\\breceived 'system'|\\bunknown variant \\W?system\\b",
  ].join('|'),
  'i',
);
/**
 * Claude's refusal, directly and at Bedrock, of a conversation that the assistant begins, as many chats do to greet.
 */
const wantsUserFirst = /\bfirst message must use the\W+user\b|\bmust (?:start|begin) with a user\b/i;
/**
 * The refusal by Claude, from 4.6 on, and by a gateway of ours, of a conversation that ends with the assistant. Clients
 * of other formats end it so, as groups of agents do, and want the next answer.
 */
const wantsUserLast =
  /\bassistant message prefill\b|\bprefilling assistant messages\b|\bcannot continue an assistant turn\b/i;
/** DeepSeek's and Moonshot's refusal of a turn with calls whose thinking the client left out. */
const missesThinking = /\bthinking\b.*\b(?:passed back|reasoning_content is missing)\b/i;
/** Older vLLM, and ModelScope, know no thinking in an answer, so its content is neither a text nor a list of blocks. */
const refusesThought = /\bcontent\W{1,6}str\b.{0,20}\binput should be a valid string\b/i;
/** Refusals by servers that validate with a schema older than the field. */
const refusesField = /extra inputs are not permitted/i;
/** What a coding tool says in system turns beside their text. */
const refusesTurnField = /\bmessages\.\d+\.(?:clear_at|output_config)\b/;
/** Optional hints that do not change what is asked: where they stand and what they are called. */
const hints = [
  ['tools', 'eager_input_streaming'],
  ['tools', 'input_examples'],
  ['tools', 'defer_loading'],
  ['thinking', 'display'],
  [undefined, 'context_management'],
] as const;
/** Claude's refusal of a tool whose schema is of an older draft or of none. */
const wantsNewestDraft = /\bmust match json schema draft 2020-12\b/i;
/** Claude takes no id that looks like an e-mail address. Others take letters, digits, `_` and `-` only. */
const refusesUser = /\buser_id\b/i;
/** The refusal by a Claude that is served under another name. */
const wantsSignature = /\bsignature\b/i;

/**
 * The body changed to suit a server of this dialect that refused it with these words:
 *
 * - system turns become user turns in their place;
 * - a user turn comes before the assistant turn that is the first;
 * - assistant turns with calls start with thinking, even if it is empty;
 * - what a turn says before its calls goes to the end of its thinking;
 * - thinking is left out for a server that knows none, or that is not signed, and so are hints that coding tools add to
 *   every request;
 * - the schemas of tools are said in the newest draft;
 * - the id of a user becomes a hash;
 * - adaptive thinking gets a budget, and a model that always thinks is not told to stop;
 * - images and files of results come after all of them;
 * - a user turn comes after the assistant turn that is the last, but only for a client of another format, and not where
 *   that turn begins the answer (`isContinuation`);
 * - a setting that a Claude refuses is left out or said in its way, but only for a client of another format
 *   (`isForeign`), which cannot know that there is a Claude behind the name.
 *
 * Absent when the refusal is about none of these.
 */
export function rephrase(
  body: JsonObject,
  refusal: string,
  isForeign: boolean,
  isContinuation = false,
): JsonObject | undefined {
  if (refusesField.test(refusal) && refusesTurnField.test(refusal))
    return withPlainSystemTurns(body, 'system');
  if (refusesField.test(refusal))
    return (
      withoutHints(body, refusal) ??
      withoutCacheMark(body, refusal) ??
      (isForeign ? withKnownEffort(body, refusal) : undefined)
    );
  if (wantsNoSystemTurn.test(refusal)) return withPlainSystemTurns(body, 'user');
  if (refusesThought.test(refusal)) return eachTurn(body, unthought);
  if (wantsOneThought(refusal)) return eachTurn(body, withOneThought);
  if (wantsUserFirst.test(refusal)) return begunByUser(body);
  if (missesThinking.test(refusal)) return eachTurn(body, withThought);
  if (wantsNewestDraft.test(refusal)) return withNewestDraft(body);
  if (refusesUser.test(refusal)) return withHashedUser(body);
  if (wantsSignature.test(refusal)) return eachTurn(body, withoutUnsigned);
  const mended =
    withThinkingBudget(body, refusal) ?? withoutNoThinking(body, refusal) ?? withMediaApart(body, refusal);
  if (mended || !isForeign) return mended;
  if (wantsUserLast.test(refusal)) return isContinuation ? undefined : endedByUser(body);
  return withoutRefused(body, refusal);
}

const refusesBoth = /\btemperature\b.*\btop_p\b.*\bcannot both\b/i;
const wantsFixedTemperature = /\btemperature\b.*\bonly be set to 1 when thinking\b/i;

/** DeepSeek's and Moonshot's refusal of a forced call while their model thinks. */
const refusesForce =
  /\bdoes not support this tool_choice\b|\btool_choice\b.{0,40}\bincompatible with thinking\b/i;

/** A setting that is refused beside another one only stays where it is alone, since every refusal is remembered. */
function withoutRefused(body: JsonObject, refusal: string): JsonObject | undefined {
  const { temperature, top_p, thinking } = body;
  const isTempered = temperature !== undefined;
  if (refusesBoth.test(refusal))
    return isTempered && top_p !== undefined ? without(body, 'top_p') : undefined;
  if (wantsFixedTemperature.test(refusal))
    return isTempered && thinking !== undefined ? without(body, 'temperature') : undefined;
  if (refusesForce.test(refusal)) return withFreeChoice(body);
  return withKnownThinking(body, refusal) ?? withKnownEffort(body, refusal);
}

/** With a call left to the model that was forced to it. */
function withFreeChoice(body: JsonObject): JsonObject | undefined {
  const { tool_choice: choice } = body;
  const isForced = isJsonObject(choice) && (choice.type === 'any' || choice.type === 'tool');
  return isForced ? without(body, 'tool_choice') : undefined;
}

/** The turn says as little as servers accept: that something may have come before. */
function begunByUser(body: JsonObject): JsonObject | undefined {
  const { messages } = body;
  if (!Array.isArray(messages)) return undefined;
  const [first] = messages;
  const isBegun = !isJsonObject(first) || first.role !== 'assistant';
  return isBegun ? undefined : { ...body, messages: [{ role: 'user', content: '…' }, ...messages] };
}

function endedByUser(body: JsonObject): JsonObject | undefined {
  const { messages } = body;
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!Array.isArray(messages) || !isJsonObject(last) || last.role !== 'assistant') return undefined;
  return { ...body, messages: [...messages, { role: 'user', content: 'Continue.' }] };
}

function withNewestDraft(body: JsonObject): JsonObject | undefined {
  if (!Array.isArray(body.tools)) return undefined;
  const tools = body.tools.map((tool) =>
    isJsonObject(tool) && isJsonObject(tool.input_schema)
      ? { ...tool, input_schema: inNewestDraft(tool.input_schema) }
      : tool,
  );
  return JSON.stringify(tools) === JSON.stringify(body.tools) ? undefined : { ...body, tools };
}

/** Only an id that looks like an address, a phone number or JSON: others are accepted. */
function withHashedUser(body: JsonObject): JsonObject | undefined {
  const { metadata } = body;
  if (!isJsonObject(metadata) || typeof metadata.user_id !== 'string') return undefined;
  const isPlain = /^(?!\d+$)[\w-]+$/.test(metadata.user_id);
  return isPlain ? undefined : { ...body, metadata: { ...metadata, user_id: hashedUser(metadata.user_id) } };
}

function withoutHints(body: JsonObject, refusal: string): JsonObject | undefined {
  let said = body;
  for (const [place, name] of hints) {
    if (!refusal.includes(name)) continue;
    if (place === undefined) {
      if (hasField(said, name)) said = without(said, name);
      continue;
    }
    const held = said[place];
    if (hasField(held, name)) said = { ...said, [place]: without(held, name) };
    else if (Array.isArray(held) && held.some((each) => hasField(each, name))) {
      said = { ...said, [place]: held.map((each) => (hasField(each, name) ? without(each, name) : each)) };
    }
  }
  return said === body ? undefined : said;
}

function hasField(value: Json | undefined, name: string): value is JsonObject {
  return isJsonObject(value) && value[name] !== undefined;
}

function without(value: JsonObject, name: string): JsonObject {
  const { [name]: _hint, ...rest } = value;
  return rest;
}

/** Replaces each turn by what `say` returns; a turn stays if `say` returns nothing. Absent when all turns stay. */
function eachTurn(body: JsonObject, say: (turn: JsonObject) => Json[] | undefined): JsonObject | undefined {
  const { messages } = body;
  if (!Array.isArray(messages)) return undefined;
  let hasChanged = false;
  const turns = messages.flatMap((turn) => {
    const said = isJsonObject(turn) ? say(turn) : undefined;
    hasChanged ||= said !== undefined;
    return said ?? [turn];
  });
  return hasChanged ? { ...body, messages: turns } : undefined;
}

function withThought(turn: JsonObject): JsonObject[] | undefined {
  const { role, content } = turn;
  if (role !== 'assistant' || !Array.isArray(content) || isThinkingBlock(content[0])) return undefined;
  if (!content.some((block) => isJsonObject(block) && block.type === 'tool_use')) return undefined;
  return [{ ...turn, content: [unsigned(''), ...content] }];
}

function unthought(turn: JsonObject): Json[] | undefined {
  const said = withoutThinking(turn);
  return said[0] === turn ? undefined : said;
}

/** With the text of a turn with calls at the end of its thinking, which is not signed then: its text is another. */
function withOneThought(turn: JsonObject): JsonObject[] | undefined {
  const { role, content } = turn;
  if (role !== 'assistant' || !Array.isArray(content)) return undefined;
  const texts = content.flatMap((block) => textOf(block, 'text') ?? []);
  const thoughts = content.flatMap((block) => textOf(block, 'thinking') ?? []);
  const hasCall = content.some((block) => isJsonObject(block) && block.type === 'tool_use');
  if (!hasCall || texts.length === 0 || thoughts.length === 0) return undefined;
  const others = content.filter((block) => !isJsonObject(block) || !isSaid(block.type));
  return [{ ...turn, content: [unsigned([...thoughts, ...texts].join('\n\n')), ...others] }];
}

function isSaid(type: Json | undefined): boolean {
  return type === 'text' || type === 'thinking';
}

/** What a block of this type says, which has it under the name of its type. */
function textOf(block: Json, type: 'text' | 'thinking'): string | undefined {
  const said = isJsonObject(block) && block.type === type ? block[type] : undefined;
  return typeof said === 'string' ? said : undefined;
}

/** A turn of nothing but unsigned thinking is left out. */
function withoutUnsigned(turn: JsonObject): JsonObject[] | undefined {
  const { content } = turn;
  if (!Array.isArray(content) || !content.some(isUnsigned)) return undefined;
  const rest = content.filter((block) => !isUnsigned(block));
  return rest.length === 0 ? [] : [{ ...turn, content: rest }];
}

function isUnsigned(block: Json): boolean {
  return isThinkingBlock(block) && block.signature === '';
}
