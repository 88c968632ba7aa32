/** The head of a plain request. */
export interface RequestHead {
  /** Path and query. */
  url: string;
  path: string;
  /** By lower-case name. */
  headers: Record<string, string>;
  /** Bytes of the head, with the empty line that ends it. */
  length: number;
  /** Bytes of the body that follows; at least 1. */
  contentLength: number;
}

/** Bytes of the longest head, as in Node. */
const longestHead = 16 * 1024;
/** Node takes as many and refuses or ignores the rest. */
const mostHeaders = 1_000;
const requestLine = /^POST ((\/[\w/.:~@-]*)(?:\?[\w=&.~-]*)?) HTTP\/1\.1$/;
/**
 * The value must not begin with a blank. Otherwise n blanks could be split in n ways, and matching would take n² steps.
 */
const headerLine = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\x21-\x7e][\t\x20-\x7e]*)?$/;
const bodyLength = /^[1-9]\d{0,8}$/;
/** Headers that change how a request is framed or answered, or what becomes of its connection. */
const notPlain = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection'];
const end = Buffer.from('\r\n\r\n');

/**
 * Reads the request head at the beginning of `bytes`. Returns one only if it is complete and plain: a POST of HTTP/1.1
 * to a path without escapes, no repeated header, a body of known length, a connection that stays open. Absent does not
 * mean that the request is bad: a full HTTP server has to look at it.
 */
export function readRequestHead(bytes: Buffer): RequestHead | undefined {
  const at = bytes.indexOf(end);
  if (at < 0 || at > longestHead) return undefined;
  const lines = bytes.toString('latin1', 0, at).split('\r\n');
  const target = requestLine.exec(lines[0] ?? '');
  if (!target) return undefined;
  const headers = readHeaders(lines);
  if (!headers || headers.host === undefined || !staysOpen(headers.connection)) return undefined;
  const contentLength = headers['content-length'];
  if (contentLength === undefined || !bodyLength.test(contentLength)) return undefined;
  const [, url = '', path = ''] = target;
  return { url, path, headers, length: at + end.length, contentLength: Number(contentLength) };
}

/** The headers after the request line; absent if one is unusual. */
function readHeaders(lines: readonly string[]): Record<string, string> | undefined {
  if (lines.length > 1 + mostHeaders) return undefined;
  const headers: Record<string, string> = {};
  for (let index = 1; index < lines.length; index += 1) {
    const line = headerLine.exec(lines[index] ?? '');
    if (!line) return undefined;
    const [, spelled = '', value = ''] = line;
    const name = spelled.toLowerCase();
    // A name that every object inherits, like `constructor`, counts as repeated, too: no client sends such a header.
    if (headers[name] !== undefined) return undefined;
    headers[name] = value.trimEnd();
  }
  return notPlain.some((name) => headers[name] !== undefined) ? undefined : headers;
}

function staysOpen(connection: string | undefined): boolean {
  return connection === undefined || connection.toLowerCase() === 'keep-alive';
}
