/** What ends a line, controls a terminal, or is not the same in every encoding. */
const unsafe = /[^\t\x20-\x7e]/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** Whether text may stand as the value of a header, and means the same to everybody. */
export function isHeaderValue(text: string): boolean {
  return !unsafe.test(text);
}

/** Whether text may be the name of a header. */
export function isHeaderName(text: string): boolean {
  return token.test(text);
}

/** How a message is framed and what becomes of its connection: nobody's affair but that of who writes it. */
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

/** Whether a header, by its name in lower case, is set by whoever holds the connection. */
export function isConnectionHeader(name: string): boolean {
  return ofTheConnection.has(name);
}
