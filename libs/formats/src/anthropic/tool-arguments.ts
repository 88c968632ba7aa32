import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** The JSON text of a call without arguments. */
export const noArguments = '{}';

/** The JSON text of a call's `input`. A call without arguments gets `{}`, which every JSON reader accepts. */
export function encodeArguments(input: JsonObject | undefined): string {
  return input === undefined ? noArguments : JSON.stringify(input);
}

/**
 * The JSON text of the `input` of a server's call. Routers such as new-api say as text what they cannot read: nothing
 * at all for a call without arguments, or arguments that are cut off.
 */
export function argumentsOf(input: Json | undefined): string {
  if (typeof input === 'string') return input.trim() === '' ? noArguments : input;
  return encodeArguments(isJsonObject(input) ? input : undefined);
}
