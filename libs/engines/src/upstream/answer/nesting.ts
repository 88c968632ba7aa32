import { endOfJsonString } from '@sluice/canonical';

/**
 * The deepest JSON that is read from a server, in levels. Code that serializes it recurses once per level: thousands of
 * levels ended the process, and with it all other answers.
 */
export const deepestAnswer = 500;

/** Whether JSON text is nested deeper than that, found without parsing it. */
export function isTooDeep(json: string): boolean {
  // Nearly every message of a stream is too short for that.
  if (json.length <= 2 * deepestAnswer) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at];
    if (sign === '"') at = endOfJsonString(json, at + 1);
    else if (sign === '[' || sign === '{') {
      depth += 1;
      if (depth > deepestAnswer) return true;
    } else if (sign === ']' || sign === '}') depth -= 1;
  }
  return false;
}
