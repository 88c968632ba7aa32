import { once } from 'node:events';
import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  body: string;
}

/**
 * Writes these pieces to a socket, each in a packet of its own, and reads until the server closes. With `end` our side
 * closes after the last piece; else it stays open.
 */
export async function exchangeRaw(
  baseUrl: string,
  pieces: readonly (string | Buffer)[],
  options: { end?: boolean } = {},
): Promise<RawAnswer[]> {
  const { port } = new URL(baseUrl);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // A server may reset the connection of a client that goes on writing after it was refused.
  socket.on('error', () => undefined);
  const closed = Promise.race([once(socket, 'end'), once(socket, 'close')]);
  await once(socket, 'connect');
  for (const piece of pieces) {
    if (socket.destroyed) break;
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (options.end) socket.end();
  await closed;
  socket.destroy();
  return parseAnswers(Buffer.concat(chunks));
}

/** A whole request as text; a body of text gets its content-length. */
export function rawRequest(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const all = {
    host: 'gateway',
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

/** Reads answers with a content-length, as the gateway's single bodies have, one after another. */
function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (let end = rest.indexOf('\r\n\r\n'); end >= 0; end = rest.indexOf('\r\n\r\n')) {
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const status = Number(statusLine.split(' ')[1]);
    const length = Number(headers['content-length'] ?? 0);
    rest = rest.subarray(end + 4);
    if (status >= 200) answers.push({ status, headers, body: rest.subarray(0, length).toString() });
    rest = rest.subarray(length);
  }
  return answers;
}
