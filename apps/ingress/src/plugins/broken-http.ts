import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorInfo } from '@sluice/canonical';
import { recognizeFormat } from '@sluice/formats';
import type { Services } from '../services.ts';

const byCode: Readonly<Record<string, { status: number; reason: string; error: ErrorInfo }>> = {
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
};
/**
 * How long the client has to read the answer and close its end. Without a limit it could keep the connection for ever.
 */
const closeLimitMs = 2_000;
const malformed: ErrorInfo = { kind: 'invalid-request', message: 'the request is not valid HTTP' };

/**
 * A socket with the response that is being written to it, in the property where Node's own handler looks for it, too.
 */
interface AnsweringSocket extends Socket {
  _httpMessage?: ServerResponse | null;
}

/**
 * Answers, counts and logs what is not a valid HTTP request: nothing else would tell an operator of clients that speak
 * TLS or HTTP/2 to a port that does not. The caller is unknown, so the answer has the format for unknown callers. If an
 * answer has already begun on the socket, the socket is cut: a refusal would end up in the middle of that answer.
 */
export function refuseBrokenHttp({ metrics, logger }: Pick<Services, 'metrics' | 'logger'>) {
  return (error: NodeJS.ErrnoException, socket: AnsweringSocket): void => {
    // A client that connected ahead of its first request expects no answer, and could take one for the answer to that
    // request.
    const hasAsked = socket.bytesRead > 0;
    if (error.code === 'ECONNRESET' || !hasAsked || !socket.writable || socket._httpMessage?.headersSent) {
      socket.destroy();
      return;
    }
    const known = byCode[error.code ?? ''];
    const { status, reason } = known ?? { status: 400, reason: 'Bad Request' };
    const info = known?.error ?? malformed;
    const codec = recognizeFormat({ path: '/', headers: {}, query: {} });
    const { body } = codec.encodeError(info, { requestId: '' });
    const text = JSON.stringify(body);
    socket.end(
      `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    // A request whose head was valid has a response, and is counted and logged with it as any other.
    if (!socket._httpMessage) {
      metrics.requests.inc({ format: codec.format, outcome: info.kind });
      logger.info({ status, outcome: info.kind, code: error.code }, 'broken request');
    }
    const timer = setTimeout(() => socket.destroy(), closeLimitMs);
    socket.once('close', () => clearTimeout(timer));
  };
}
