import { isConnectionHeader, isHeaderName, isHeaderValue } from './header.ts';

/** What a request is before its body is known. */
export interface RequestFacts {
  /** Path and query, escaped. */
  path: string;
  /** The value of the `host` header, where `headers` have none. */
  authority: string;
  /** By names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/** A request as it goes over the wire. */
export interface WireRequest {
  text: string;
  /** True when all of it is ASCII, which is cheaper to write. */
  isAscii: boolean;
}

const unescaped = /[^\x21-\x7e]/;

/**
 * The head of a POST up to the value of its last header, the length of its body: requests that differ in the body
 * alone share it. Throws a `TypeError` for what no head may hold.
 */
export function beginRequest({ path, authority, headers }: RequestFacts): string {
  if (unescaped.test(path)) throw new TypeError('a path holds a character that must be escaped');
  const head = `POST ${path} HTTP/1.1\r\n`;
  return `${head}${linesOf({ host: authority, ...headers })}content-length: `;
}

/**
 * The request of a head that `beginRequest` made, a body, and the headers of this request alone. Throws a `TypeError` as
 * `beginRequest` does.
 */
export function completeRequest(
  head: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): WireRequest {
  const bytes = Buffer.byteLength(body);
  // As many bytes as letters: the head is ASCII anyway.
  return { text: `${head}${bytes}\r\n${linesOf(headers)}\r\n${body}`, isAscii: bytes === body.length };
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  let lines = '';
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderName(name) || isConnectionHeader(name))
      throw new TypeError('a header has a name that it may not have');
    if (!isHeaderValue(value)) throw new TypeError(`the header ${name} holds what no header may`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
