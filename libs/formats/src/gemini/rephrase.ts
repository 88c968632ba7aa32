import { isJsonObject, type JsonObject } from '@sluice/canonical';
import { jsonInWords } from './output.ts';

const refusesPenalties = /\bpenalty is not enabled\b/i;
const refusesThinking = /\bthinking[\w. ]* is (?:not|only) (?:enabled|supported)\b/i;
const refusesNoThinking = /\bthinking can't be disabled\b|\bonly works in thinking mode\b/i;
/** The refusal by models before the third generation that are served under another name. */
const refusesJsonWithTools = /response mime type: 'application\/json' is unsupported/i;
/** Gemma's refusals. */
const refusesJson = /\bjson mode is not enabled\b/i;
const refusesInstruction = /\bdeveloper instruction is not enabled\b/i;

/**
 * The body changed to suit a model that refused it with these words, for a client of another format (`isForeign`), which
 * cannot know what the model behind a name accepts: without penalties, without a word about thinking, with JSON asked
 * for in words, or with the system instruction at the head of the conversation. Absent when the refusal is about none of
 * these, or the body does not have what it is about: a refusal is remembered for every later request.
 */
export function rephrase(body: JsonObject, refusal: string, isForeign: boolean): JsonObject | undefined {
  if (!isForeign) return undefined;
  if (refusesPenalties.test(refusal)) return withoutSettings(body, ['presencePenalty', 'frequencyPenalty']);
  if (refusesThinking.test(refusal)) return withoutSettings(body, ['thinkingConfig']);
  if (refusesNoThinking.test(refusal)) return withoutNoThinking(body);
  const isJsonRefused =
    refusesJson.test(refusal) || (refusesJsonWithTools.test(refusal) && body.tools !== undefined);
  if (isJsonRefused) return withJsonInWords(body);
  return refusesInstruction.test(refusal) ? withInstructionSaid(body) : undefined;
}

function withoutSettings(body: JsonObject, names: readonly string[]): JsonObject | undefined {
  const { generationConfig } = body;
  if (!isJsonObject(generationConfig) || !names.some((name) => name in generationConfig)) return undefined;
  const rest = Object.entries(generationConfig).filter(([name]) => !names.includes(name));
  return { ...body, generationConfig: Object.fromEntries(rest) };
}

function withoutNoThinking(body: JsonObject): JsonObject | undefined {
  const { generationConfig } = body;
  const thinking = isJsonObject(generationConfig) ? generationConfig.thinkingConfig : undefined;
  return isJsonObject(thinking) && thinking.thinkingBudget === 0
    ? withoutSettings(body, ['thinkingConfig'])
    : undefined;
}

function withJsonInWords(body: JsonObject): JsonObject | undefined {
  const { generationConfig, systemInstruction } = body;
  const schema = isJsonObject(generationConfig) ? generationConfig.responseJsonSchema : undefined;
  const plain = withoutSettings(body, ['responseMimeType', 'responseJsonSchema']);
  const instruction = isJsonObject(systemInstruction) ? systemInstruction : {};
  const said = Array.isArray(instruction.parts) ? instruction.parts : [];
  const words = { text: jsonInWords(isJsonObject(schema) ? schema : undefined) };
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
