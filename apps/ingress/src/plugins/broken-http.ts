import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorInfo } from '@sluice/canonical';
import { recognizeFormat } from '@sluice/formats';
import { codecOf, idHeaders, replyHeaders, writeJson } from '../answers/reply.ts';
import { type Exchange, noteError } from '../exchange.ts';
import type { Services } from '../services.ts';

interface Refusal {
  status: number;
  reason: string;
  error: ErrorInfo;
  /** What operators are told instead of the error. */
  counted?: ErrorInfo;
}

const malformed: Refusal = {
  status: 400,
  reason: 'Bad Request',
  error: { kind: 'invalid-request', message: 'the request is not valid HTTP' },
};
const byCode: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    error: { kind: 'too-large', message: 'the request headers are too large' },
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    error: { kind: 'invalid-request', message: 'the request did not arrive in time', retryable: false },
  },
  // Nearly all of these clients have left. One that closed its own side alone can still be told its mistake.
  HPE_INVALID_EOF_STATE: { ...malformed, counted: { kind: 'cancelled', message: 'the client left' } },
};
/**
 * How long the client has to read the answer and close its end. Without a limit it could keep the connection for ever.
 */
const closeLimitMs = 2_000;

/**
 * A socket with the response that is being written to it, in the property where Node's own handler looks for it, too.
 */
interface AnsweringSocket extends Socket {
  _httpMessage?: ServerResponse | null;
}

/**
 * Answers, counts and logs what is not a valid HTTP request: nothing else would tell an operator of clients that speak
 * TLS or HTTP/2 to a port that does not. A request whose head was valid is answered in its caller's format; any other
 * caller is unknown and gets the format for unknown callers. Requests that came whole before the broken one are
 * answered first. If the broken one's own answer has already begun, the socket is cut: a refusal would end up in the
 * middle of that answer.
 */
export function refuseBrokenHttp(services: Services) {
  /** Sockets whose earlier requests are still being answered. Whatever arrives behind the error is reported, too. */
  const waiting = new WeakSet<Socket>();

  const refuse = (error: NodeJS.ErrnoException, socket: AnsweringSocket): void => {
    const response = socket._httpMessage;
    const isBehindAnother = response?.req.complete === true;
    const hasLeft = error.code === 'ECONNRESET' || (isBehindAnother && socket.readableEnded);
    if (isBehindAnother && !hasLeft) {
      if (waiting.has(socket)) return;
      waiting.add(socket);
      response.once('finish', () => {
        waiting.delete(socket);
        // Otherwise that answer was the last one, which the socket is still to send.
        if (socket.writable) refuse(error, socket);
      });
      return;
    }
    // A client that connected ahead of its first request expects no answer, and could take one for the answer to that
    // request.
    const hasAsked = socket.bytesRead > 0;
    if (hasLeft || !hasAsked || !socket.writable || response?.headersSent) {
      socket.destroy();
      return;
    }
    const refusal = byCode[error.code ?? ''] ?? malformed;
    const exchange = response?.exchange;
    if (response && exchange) refuseBody(socket, response, exchange, refusal, services);
    else refuseHead(socket, refusal, error.code, services);
  };
  return refuse;
}

/** Refuses a request with a valid head. It is counted and logged as any other. */
function refuseBody(
  socket: Socket,
  response: ServerResponse,
  exchange: Exchange,
  { status, error, counted = error }: Refusal,
  services: Services,
): void {
  // Node would destroy the socket behind the answer, and what the client is still sending would reset it.
  socket.destroySoon = () => closeGently(socket);
  noteError(exchange, counted);
  const { headers, body } = codecOf(exchange).encodeError(error, exchange);
  const all = { ...replyHeaders(exchange, services), ...headers, connection: 'close' };
  writeJson(response, status, all, body);
}

function refuseHead(
  socket: Socket,
  { status, reason, error, counted = error }: Refusal,
  code: string | undefined,
  { metrics, logger, newRequestId }: Services,
): void {
  const requestId = newRequestId();
  const codec = recognizeFormat({ path: '/', headers: {}, query: {} });
  const { headers, body } = codec.encodeError(error, { requestId });
  const text = JSON.stringify(body);
  const all = {
    ...idHeaders(requestId),
    ...headers,
    connection: 'close',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${text}`);
  closeGently(socket);
  metrics.requests.inc({ format: codec.format, outcome: counted.kind });
  logger.info({ requestId, status, outcome: counted.kind, code }, 'broken request');
}

/** Ends a socket and leaves its client the time to read what was written. */
function closeGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), closeLimitMs);
  socket.once('close', () => clearTimeout(timer));
}
