/*
 * The dialect is protobuf's JSON, in which a client may write a word of an enum by its number. Google's REST clients
 * for Python and Go do (`$alt=json;enum-encoding=int`). Each list holds the words by their numbers.
 */

/** `Type` of a schema. */
export const schemaTypes: readonly string[] = [
  'TYPE_UNSPECIFIED',
  'STRING',
  'NUMBER',
  'INTEGER',
  'BOOLEAN',
  'ARRAY',
  'OBJECT',
  'NULL',
];

/** `FunctionCallingConfig.Mode`. */
export const callingModes: readonly string[] = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'];

/** `ThinkingConfig.ThinkingLevel`, by Google's published definition, which has no number for XHIGH yet. */
export const thinkingLevels: readonly string[] = [
  'THINKING_LEVEL_UNSPECIFIED',
  'LOW',
  'MEDIUM',
  'HIGH',
  'MINIMAL',
];

/** `MediaResolution`, and the level of a part's own. */
export const mediaResolutions: readonly string[] = [
  'MEDIA_RESOLUTION_UNSPECIFIED',
  'MEDIA_RESOLUTION_LOW',
  'MEDIA_RESOLUTION_MEDIUM',
  'MEDIA_RESOLUTION_HIGH',
  'MEDIA_RESOLUTION_ULTRA_HIGH',
];

/** The word that a number stands for; anything else unchanged. */
export function wordOf<Value>(value: Value, words: readonly string[]): Value | string {
  return typeof value === 'number' ? (words[value] ?? value) : value;
}
