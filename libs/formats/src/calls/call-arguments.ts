import { isJsonObject, type JsonObject } from '@sluice/canonical';
import { parseExactly } from '../json/exact-numbers.ts';
import { holdsTooMany } from '../json/text-values.ts';
import { isTooDeep } from './argument-depth.ts';
import { ArgumentScanner } from './argument-scanner.ts';

/** A call's arguments as an object, and how reliable it is. */
export interface ParsedArguments {
  input: JsonObject;
  /** False if the text could not be understood; then `input` is empty. */
  isReadable: boolean;
  /** Whether the text was cut off; then `input` holds what came. */
  isCut: boolean;
}

/**
 * Turns a model's JSON text into the object that some dialects demand. Text that was cut off is completed, because a
 * call that hit the output limit is the common case. Unambiguous slips are repaired, as `ArgumentScanner` does in a
 * stream. Anything else that is no object becomes `{}`, which is also what `null` means, and so does an object of more
 * values than a request may bring: no client could bring it back.
 */
export function parseArguments(text: string): ParsedArguments {
  if (holdsTooMany(text)) return { input: {}, isReadable: false, isCut: false };
  const whole = parseObject(text);
  if (whole !== undefined) return { input: whole, isReadable: true, isCut: false };
  const scanner = new ArgumentScanner();
  const repaired = scanner.push(text) + scanner.end();
  const { isReadable, isCut } = scanner;
  const input = isReadable ? parseObject(repaired) : undefined;
  return { input: input ?? {}, isReadable, isCut };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseExactly(text);
    return isJsonObject(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
