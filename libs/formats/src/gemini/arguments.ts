import { isJsonObject, type JsonObject } from '@sluice/canonical';
import { isTooDeep } from '../argument-depth.ts';
import { parseExactly } from '../exact-numbers.ts';

export interface CallArguments {
  args: JsonObject;
  /** The text was beyond repair and `args` stands empty for it. */
  isMalformed: boolean;
}

/**
 * The arguments of a call as the object that the dialect demands. Empty text is an empty object, and so is `null`. Slips that
 * leave no doubt are repaired: a code fence around the object, raw control characters inside of strings,
 * commas before a closing bracket. Text that breaks off is not completed: half a command or half a path is
 * worse than none. Whatever stays unreadable becomes `{}`, marked as malformed.
 */
export function parseArguments(text: string): CallArguments {
  if (/^\s*(?:null)?\s*$/.test(text)) return { args: {}, isMalformed: false };
  const args = parseObject(text) ?? parseObject(repair(text));
  return args ? { args, isMalformed: false } : { args: {}, isMalformed: true };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseExactly(text);
    return isJsonObject(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A string, complete or not, or a comma that nothing but space parts from a closing bracket. */
const stringOrComma = /"(?:[^"\\]+|\\[\s\S])*"?|,(?=\s*[}\]])/g;
const controlCharacter = /\p{Cc}/gu;

function repair(text: string): string {
  return withoutFence(text.trim()).replace(stringOrComma, (found) =>
    found === ',' ? '' : escapeControls(found),
  );
}

function withoutFence(text: string): string {
  const isFenced = text.startsWith('```') && text.endsWith('```');
  return isFenced ? text.slice(3, -3).replace(/^json\b/, '') : text;
}

function escapeControls(string: string): string {
  return string.replace(controlCharacter, (character) => JSON.stringify(character).slice(1, -1));
}
