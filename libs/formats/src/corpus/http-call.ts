import { Agent, request } from 'node:http';
import { createConnection } from 'node:net';

/** What came back. `status` 0: the connection was cut without an answer; -1: nothing came in time. */
export interface HttpAnswer {
  status: number;
  contentType: string;
  body: string;
  /** Milliseconds until the answer was complete. */
  tookMs: number;
}

/** The gateway to call. */
export interface HttpTarget {
  url: URL;
  key: string;
  /** How long to wait for one call, in milliseconds. */
  timeoutMs: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const hung: Omit<HttpAnswer, 'tookMs'> = { status: -1, contentType: '', body: '' };

/** Posts a text as JSON. */
export function postText(target: HttpTarget, path: string, text: string): Promise<HttpAnswer> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const end = (answer: Omit<HttpAnswer, 'tookMs'>) =>
      resolve({ ...answer, tookMs: performance.now() - startedAt });
    const body = Buffer.from(text);
    const call = request({
      host: target.url.hostname,
      port: target.url.port,
      path: escapePath(path),
      method: 'POST',
      agent,
      timeout: target.timeoutMs,
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        authorization: `Bearer ${target.key}`,
      },
    });
    call.on('timeout', () => {
      end(hung);
      call.destroy();
    });
    call.on('error', () => end({ status: 0, contentType: '', body: '' }));
    call.on('response', (response) => {
      const pieces: Buffer[] = [];
      const contentType = response.headers['content-type'] ?? '';
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('close', () =>
        end({ status: response.statusCode ?? 0, contentType, body: Buffer.concat(pieces).toString() }),
      );
    });
    call.end(body);
  });
}

/** Writes bytes to a new socket and reads until it is closed or a whole answer has come. */
export function sendBytes(target: HttpTarget, bytes: string): Promise<HttpAnswer> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let text = '';
    const socket = createConnection({ host: target.url.hostname, port: Number(target.url.port) });
    const end = (answer: Omit<HttpAnswer, 'tookMs'>) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ ...answer, tookMs: performance.now() - startedAt });
    };
    const timer = setTimeout(() => end(text === '' ? hung : readAnswer(text)), target.timeoutMs);
    // Half-closed: the other direction stays open for the answer.
    socket.on('connect', () => socket.end(Buffer.from(bytes, 'latin1')));
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
    });
    socket.on('error', () => end(readAnswer(text)));
    socket.on('close', () => end(readAnswer(text)));
  });
}

function readAnswer(all: string): Omit<HttpAnswer, 'tookMs'> {
  const text = all.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
  const contentType = /\r\ncontent-type: ([^\r\n]*)/i.exec(text)?.[1] ?? '';
  return { status, contentType, body: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

/** Percent-encodes the characters that Node's client refuses to send, and nothing else. */
function escapePath(path: string): string {
  const escaped = path.toWellFormed().replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character));
  return escaped.startsWith('/') ? escaped : `/${escaped}`;
}
