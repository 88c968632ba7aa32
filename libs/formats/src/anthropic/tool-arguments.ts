import { isJsonObject, type JsonObject } from '@sluice/canonical';

/** What a call without arguments says. */
export const noArguments = '{}';

/** The JSON text of a call's `input`; a call without arguments says `{}`, which every reader of JSON takes. */
export function encodeArguments(input: JsonObject | undefined): string {
  return input === undefined ? noArguments : JSON.stringify(input);
}

export interface ParsedArguments {
  input: JsonObject;
  /** False where the text could not be understood and `input` is empty. */
  isReadable: boolean;
}

/**
 * A model's JSON text as the object that this dialect demands. Text that was cut off is completed, because a
 * call that hit the output limit is the common case; anything else that is no object becomes `{}`.
 */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { input: {}, isReadable: true };
  const whole = parseObject(text);
  if (whole !== undefined) return { input: whole, isReadable: true };
  for (const candidate of completions(text)) {
    const input = parseObject(candidate);
    if (input !== undefined) return { input, isReadable: true };
  }
  return { input: {}, isReadable: false };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The text with everything closed that is open at its end, and, should its last value be half a word or a name
 * without a value, the text up to the value before it.
 */
function completions(text: string): string[] {
  const closers: string[] = [];
  // Closers that were popped since the last whole value: what lies open there is `closers` and these.
  let popped: string[] = [];
  let wholeLength = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (inString) {
      if (char === '\\') index += 1;
      else if (char === '"') inString = false;
      continue;
    }
    if (char === '"') inString = true;
    else if (char === '}' || char === ']') popped.push(closers.pop() ?? '');
    else if (char === ',' || char === '{' || char === '[') {
      if (char !== ',') closers.push(char === '{' ? '}' : ']');
      popped = [];
      wholeLength = char === ',' ? index : index + 1;
    }
  }
  // An escape that was cut in half would swallow the quote that closes the string.
  const open = inString ? `${text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')}"` : text;
  const closing = closers.toReversed().join('');
  return [open + closing, text.slice(0, wholeLength) + popped.join('') + closing];
}
