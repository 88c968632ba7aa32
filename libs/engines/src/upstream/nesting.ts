/**
 * The deepest JSON that is read of a server, in levels. Whoever says it again calls itself for each level: thousands of
 * them ended the process, and with it all other answers.
 */
export const deepestAnswer = 500;

/** Whether JSON text is nested deeper than that, found without parsing it. */
export function isTooDeep(json: string): boolean {
  // As nearly every message of a stream: it has not the room.
  if (json.length <= 2 * deepestAnswer) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at];
    if (sign === '"') at = endOfString(json, at);
    else if (sign === '[' || sign === '{') {
      depth += 1;
      if (depth > deepestAnswer) return true;
    } else if (sign === ']' || sign === '}') depth -= 1;
  }
  return false;
}

/** The place of the quote that ends the string which begins at `start`; the end of the text where none does. */
function endOfString(json: string, start: number): number {
  let at = json.indexOf('"', start + 1);
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf('"', at + 1);
  return at < 0 ? json.length : at;
}

function isEscaped(json: string, quote: number): boolean {
  let from = quote;
  while (json[from - 1] === '\\') from -= 1;
  return (quote - from) % 2 === 1;
}
