import type { JsonObject } from '@sluice/canonical';

/** The JSON text of a call without arguments. */
export const noArguments = '{}';

/** The JSON text of a call's `input`. A call without arguments gets `{}`, which every JSON reader accepts. */
export function encodeArguments(input: JsonObject | undefined): string {
  return input === undefined ? noArguments : JSON.stringify(input);
}
