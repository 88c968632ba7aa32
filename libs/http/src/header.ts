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
