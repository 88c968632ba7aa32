/** The head of a request that leaves no question open. */
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

/** As many bytes as Node itself allows a head. */
const longestHead = 16 * 1024;
/** As many as Node takes, which refuses or forgets the rest. */
const mostHeaders = 1_000;
const requestLine = /^POST ((\/[\w/.:~@-]*)(?:\?[\w=&.~-]*)?) HTTP\/1\.1$/;
/** A value begins with what is no blank, so that there is one way to read a line: of n blanks there were n². */
const headerLine = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\x21-\x7e][\t\x20-\x7e]*)?$/;
const bodyLength = /^[1-9]\d{0,8}$/;
/** What changes how a request is framed or answered, or what becomes of its connection. */
const notPlain = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection'];
const end = Buffer.from('\r\n\r\n');

/**
 * Reads the head at the beginning of a piece of bytes. Absent for everything but a whole head of the plainest kind:
 * a POST of HTTP/1.1 to a path without escapes, no header twice, a body of a known length, a connection that stays
 * open. Absent says nothing about what it is: whoever serves HTTP in full must be asked then.
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

/** The header lines behind the request line; absent where one is unusual. */
function readHeaders(lines: readonly string[]): Record<string, string> | undefined {
  if (lines.length > 1 + mostHeaders) return undefined;
  const headers: Record<string, string> = {};
  for (let index = 1; index < lines.length; index += 1) {
    const line = headerLine.exec(lines[index] ?? '');
    if (!line) return undefined;
    const [, spelled = '', value = ''] = line;
    const name = spelled.toLowerCase();
    // What every object inherits counts as a double, too: `constructor` is nobody's header.
    if (headers[name] !== undefined) return undefined;
    headers[name] = value.trimEnd();
  }
  return notPlain.some((name) => headers[name] !== undefined) ? undefined : headers;
}

function staysOpen(connection: string | undefined): boolean {
  return connection === undefined || connection.toLowerCase() === 'keep-alive';
}
