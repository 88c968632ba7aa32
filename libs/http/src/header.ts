/** Characters that end a line, control a terminal, or differ between encodings. */
const unsafe = /[^\t\x20-\x7e]/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** Whether a text may be a header's value and means the same to every reader. */
export function isHeaderValue(text: string): boolean {
  return !unsafe.test(text);
}

/** Whether a text may be a header's name. */
export function isHeaderName(text: string): boolean {
  return token.test(text);
}

/**
 * A header's value without the blanks around it. `trim` would also take off a form feed, a vertical tab and a no-break
 * space, which other readers leave in the value: to them `\fchunked` is no coding, and the body ends elsewhere.
 */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

/**
 * Headers that decide how a message is framed and what becomes of its connection. Only the owner of the connection sets
 * them.
 */
const ofTheConnection = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Whether only the owner of the connection sets this header; the name is in lower case. */
export function isConnectionHeader(name: string): boolean {
  return ofTheConnection.has(name);
}
