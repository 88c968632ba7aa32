import { encodeLarge } from '@sluice/runtime';
import { isConnectionHeader, isHeaderName, isHeaderValue } from './header.ts';

/** What is known of a request before its body. */
export interface RequestFacts {
  /** Path and query, already escaped. */
  path: string;
  /** The value of the `host` header, unless `headers` has one. */
  authority: string;
  /** Keyed by names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/** A request as it is written to the socket. */
export interface WireRequest {
  /** Head and body; of a request with a large body, the head alone. */
  text: string;
  /** True when all of the text is ASCII, which is cheaper to write. */
  isAscii: boolean;
  /** A large body; absent if it is in the text. */
  body?: Buffer;
}

const unescaped = /[^\x21-\x7e]/;

/**
 * The head of a POST up to the value of `content-length`. Requests that differ only in their body and in a few headers
 * share it. Throws a `TypeError` for a character that is not allowed there.
 */
export function beginRequest({ path, authority, headers }: RequestFacts): string {
  if (unescaped.test(path)) throw new TypeError('a path holds a character that must be escaped');
  const head = `POST ${path} HTTP/1.1\r\n`;
  return `${head}${linesOf({ host: authority, ...headers })}content-length: `;
}

/**
 * Completes a head made by `beginRequest` with a body and the headers of this request alone. Throws as `beginRequest`
 * does.
 */
export function completeRequest(
  head: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): WireRequest {
  const encoded = encodeLarge(body);
  const bytes = Buffer.byteLength(encoded);
  const text = `${head}${bytes}\r\n${linesOf(headers)}\r\n`;
  // The head is ASCII anyway; the body is if it has as many bytes as UTF-16 units.
  return typeof encoded === 'string'
    ? { text: text + body, isAscii: bytes === body.length }
    : { text, isAscii: true, body: encoded };
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  let lines = '';
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderName(name) || isConnectionHeader(name))
      throw new TypeError('a header has a name that is not allowed');
    if (!isHeaderValue(value))
      throw new TypeError(`the header ${name} holds a character that is not allowed in a header`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
