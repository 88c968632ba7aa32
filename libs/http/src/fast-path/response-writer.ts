import type { ServerResponse } from 'node:http';

/** The part of Node's response that answers are written with. The fast path has an implementation of its own. */
export interface ResponseWriter
  extends Pick<
    ServerResponse,
    | 'statusCode'
    | 'headersSent'
    | 'destroyed'
    | 'writableLength'
    | 'writableFinished'
    | 'chunkedEncoding'
    | 'socket'
  > {
  writeHead(status: number, headers: Record<string, string>): unknown;
  write(text: string): unknown;
  end(text?: string): unknown;
  /** Emits `timeout` when the client has read nothing for `ms` milliseconds; 0 switches that off. */
  setTimeout(ms: number): unknown;
  destroy(): unknown;
  /**
   * `prefinish` comes when the end has been written, before the client has read it all. `close` comes once, when the
   * answer is finished or the client is gone: `writableFinished` tells which.
   */
  on(event: 'close' | 'drain' | 'prefinish' | 'timeout', listener: () => void): unknown;
  prependListener(event: 'close', listener: () => void): unknown;
}

/**
 * Cuts an incomplete answer, so that no client takes it for a whole one. If the body is ended by the end of the
 * connection, as in HTTP/1.0 (which nginx speaks by default), that end has to be a reset.
 */
export function breakOff(response: ResponseWriter): void {
  if (response.chunkedEncoding || !response.socket) response.destroy();
  else response.socket.resetAndDestroy();
}
