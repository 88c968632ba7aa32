import type { JsonObject } from '@sluice/canonical';

/** What a call without arguments says. */
export const noArguments = '{}';

/** The JSON text of a call's `input`; a call without arguments says `{}`, which every reader of JSON takes. */
export function encodeArguments(input: JsonObject | undefined): string {
  return input === undefined ? noArguments : JSON.stringify(input);
}
