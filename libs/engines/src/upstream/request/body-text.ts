/** Half of a character (a lone surrogate) as `JSON.stringify` escapes it: after an even number of backslashes. */
const loneHalf = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/**
 * A body as JSON. Clients that shorten a text by its length cut characters in two. Claude refuses the half that is
 * left, and other servers fail at it, with every later request of the conversation. It becomes U+FFFD.
 */
export function bodyText(body: object): string {
  const text = JSON.stringify(body);
  return text.includes('\\ud') ? text.replace(loneHalf, '$1\ufffd') : text;
}
