import { isJsonObject, type JsonObject } from '@sluice/canonical';

const refusesPenalties = /\bpenalty is not enabled\b/i;
const refusesThinking =
  /\bthinking[\w. ]* is (?:not|only) (?:enabled|supported)\b|\bthinking can't be disabled\b|\bonly works in thinking mode\b/i;
/** Gemma's refusal. */
const refusesInstruction = /\bdeveloper instruction is not enabled\b/i;

/**
 * The body changed to suit a model that refused it with these words, for a client of another format (`isForeign`), which
 * cannot know what the model behind a name accepts: without penalties, without a word about thinking, or with the
 * system instruction at the head of the conversation. Absent when the refusal is about none of these.
 */
export function rephrase(body: JsonObject, refusal: string, isForeign: boolean): JsonObject | undefined {
  if (!isForeign) return undefined;
  if (refusesPenalties.test(refusal)) return withoutSettings(body, ['presencePenalty', 'frequencyPenalty']);
  if (refusesThinking.test(refusal)) return withoutSettings(body, ['thinkingConfig']);
  return refusesInstruction.test(refusal) ? withInstructionSaid(body) : undefined;
}

function withoutSettings(body: JsonObject, names: readonly string[]): JsonObject | undefined {
  const { generationConfig } = body;
  if (!isJsonObject(generationConfig) || !names.some((name) => name in generationConfig)) return undefined;
  const rest = Object.entries(generationConfig).filter(([name]) => !names.includes(name));
  return { ...body, generationConfig: Object.fromEntries(rest) };
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
