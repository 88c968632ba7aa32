import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { objectOf } from '../json/json-object.ts';
import { jsonInWords } from './request/output.ts';
import { levelOf } from './request/thinking.ts';

const refusesPenalties = /\bpenalty is not enabled\b/i;
/** Refusals by models, and by an API that is older than the field. */
const refusesThinking =
  /\bthinking[\w. ]* is (?:not|only) (?:enabled|supported)\b|\bunknown name \W{1,3}thinking_?(?:config|level)\b/i;
const refusesLevel =
  /\bthinking level (?:is unsupported: thinking_level_)?(\w+)(?: is not supported|$)|'(\w+)' is not a supported thinking level/i;
/** Vertex, and gateways of an older schema, know no ids of calls. */
const refusesIds =
  /\bunknown name \W{1,3}id\W{1,3} at \W?contents\b[^:]{0,80}\.function_?(?:call|response)\b/i;
/** The levels that a model may have, the weakest first. */
const levelsByStrength = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'];
/** Models of 2.5 know a budget only, later ones prefer a level. */
const refusesForm = /\bthinking (level|budget) is not supported\b/i;
const refusesNoThinking = /\bthinking can't be disabled\b|\bonly works in thinking mode\b/i;
/** The refusal by models before the third generation that are served under another name. */
const refusesJsonWithTools = /response mime type: 'application\/json' is unsupported/i;
/** Gemma's refusal, and that of an API that is older than the field. */
const refusesJson = /\bjson mode is not enabled\b|\bunknown name \W{1,3}response_?json_?schema\b/i;
/** Gemma's refusal. */
const refusesInstruction = /\bdeveloper instruction is not enabled\b/i;

/**
 * The body changed to suit a server that refused it with these words: without the ids of calls, which a client of this
 * format may have got from us or from another server. For a client of another format (`isForeign`), which cannot know
 * what the model behind a name accepts: without penalties, with the next level of thinking or with one instead of a
 * budget, without a word about thinking, with JSON asked for in words, or with the system instruction at the head of
 * the conversation. Absent when the refusal is about none of these, or the body does not have what it is about: a
 * refusal is remembered for every later request.
 */
export function rephrase(body: JsonObject, refusal: string, isForeign: boolean): JsonObject | undefined {
  if (refusesIds.test(refusal)) return withoutCallIds(body);
  if (!isForeign) return undefined;
  if (refusesPenalties.test(refusal)) return withoutSettings(body, ['presencePenalty', 'frequencyPenalty']);
  const level = levelIn(refusal);
  if (level !== undefined) return withNextLevel(body, level);
  if (refusesThinking.test(refusal)) return withoutThinking(body, refusal);
  if (refusesNoThinking.test(refusal)) return withoutNoThinking(body);
  const isJsonRefused =
    refusesJson.test(refusal) || (refusesJsonWithTools.test(refusal) && body.tools !== undefined);
  if (isJsonRefused) return withJsonInWords(body);
  return refusesInstruction.test(refusal) ? withInstructionSaid(body) : undefined;
}

/** Calls and results of a turn belong to each other by their order, too. */
function withoutCallIds(body: JsonObject): JsonObject | undefined {
  const { contents } = body;
  if (!Array.isArray(contents)) return undefined;
  let hasIds = false;
  const bare = (part: Json): Json => {
    if (!isJsonObject(part)) return part;
    const said = { ...part };
    for (const name of ['functionCall', 'functionResponse']) {
      const { id, ...known } = objectOf(part[name]);
      if (id === undefined) continue;
      hasIds = true;
      said[name] = known;
    }
    return said;
  };
  const turns = contents.map((turn) =>
    isJsonObject(turn) && Array.isArray(turn.parts) ? { ...turn, parts: turn.parts.map(bare) } : turn,
  );
  return hasIds ? { ...body, contents: turns } : undefined;
}

function withoutSettings(body: JsonObject, names: readonly string[]): JsonObject | undefined {
  const { generationConfig } = body;
  if (!isJsonObject(generationConfig) || !names.some((name) => name in generationConfig)) return undefined;
  const rest = Object.entries(generationConfig).filter(([name]) => !names.includes(name));
  return { ...body, generationConfig: Object.fromEntries(rest) };
}

function thinkingIn({ generationConfig }: JsonObject): JsonObject {
  return objectOf(objectOf(generationConfig).thinkingConfig);
}

/** The level that a refusal is about. Absent: it is about another thing, or about every level. */
function levelIn(refusal: string): string | undefined {
  const [, before, quoted] = refusesLevel.exec(refusal) ?? [];
  const named = (before ?? quoted)?.toUpperCase();
  return levelsByStrength.find((level) => level === named);
}

/** With the next stronger level instead of the refused one, or none in place of the strongest. */
function withNextLevel(body: JsonObject, refused: string): JsonObject | undefined {
  const { generationConfig } = body;
  const thinking = thinkingIn(body);
  if (!isJsonObject(generationConfig) || thinking.thinkingLevel !== refused) return undefined;
  const thinkingLevel = levelsByStrength[levelsByStrength.indexOf(refused) + 1];
  if (thinkingLevel === undefined) return withoutSettings(body, ['thinkingConfig']);
  return {
    ...body,
    generationConfig: { ...generationConfig, thinkingConfig: { ...thinking, thinkingLevel } },
  };
}

function withoutThinking(body: JsonObject, refusal: string): JsonObject | undefined {
  const form = refusesForm.exec(refusal)?.[1]?.toLowerCase();
  const { thinkingLevel, thinkingBudget } = thinkingIn(body);
  if (form !== undefined && (form === 'level' ? thinkingLevel : thinkingBudget) === undefined)
    return undefined;
  return form === 'budget' ? withLevel(body) : withoutSettings(body, ['thinkingConfig']);
}

/** With a level in place of the budget. */
function withLevel(body: JsonObject): JsonObject {
  const { thinkingBudget, ...shown } = thinkingIn(body);
  const thinkingLevel = typeof thinkingBudget === 'number' ? levelOf(thinkingBudget) : undefined;
  const thinkingConfig = { ...shown, ...(thinkingLevel !== undefined && { thinkingLevel }) };
  return { ...body, generationConfig: { ...objectOf(body.generationConfig), thinkingConfig } };
}

function withoutNoThinking(body: JsonObject): JsonObject | undefined {
  return thinkingIn(body).thinkingBudget === 0 ? withoutSettings(body, ['thinkingConfig']) : undefined;
}

function withJsonInWords(body: JsonObject): JsonObject | undefined {
  const { generationConfig, systemInstruction } = body;
  const schema = isJsonObject(generationConfig) ? generationConfig.responseJsonSchema : undefined;
  const plain = withoutSettings(body, ['responseMimeType', 'responseJsonSchema']);
  const instruction = objectOf(systemInstruction);
  const said = Array.isArray(instruction.parts) ? instruction.parts : [];
  const words = { text: jsonInWords(isJsonObject(schema) ? schema : undefined, body.tools !== undefined) };
  return plain && { ...plain, systemInstruction: { ...instruction, parts: [...said, words] } };
}

function withInstructionSaid({ systemInstruction, contents, ...rest }: JsonObject): JsonObject | undefined {
  const parts = isJsonObject(systemInstruction) ? systemInstruction.parts : undefined;
  if (!Array.isArray(parts) || !Array.isArray(contents)) return undefined;
  const [first, ...others] = contents;
  if (isJsonObject(first) && first.role === 'user' && Array.isArray(first.parts)) {
    return { contents: [{ ...first, parts: [...parts, ...first.parts] }, ...others], ...rest };
  }
  return { contents: [{ role: 'user', parts }, ...contents], ...rest };
}
