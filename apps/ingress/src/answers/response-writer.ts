import type { ServerResponse } from 'node:http';

/** What an answer is written to: Node's own response, or the one of the fast path. Its words are Node's. */
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
  /** Tells `timeout` when the client took nothing for so many milliseconds; 0 tells nothing more. */
  setTimeout(ms: number): unknown;
  destroy(): unknown;
  /**
   * `prefinish` comes at the end, before the client has taken all of it. `close` comes once, when all is written or the
   * client is gone: `writableFinished` says which.
   */
  on(event: 'close' | 'drain' | 'prefinish' | 'timeout', listener: () => void): unknown;
  prependListener(event: 'close', listener: () => void): unknown;
}

/**
 * Ends an answer that is not whole, so that nobody takes it for one. Where it is the end of the connection that ends a
 * body, as in HTTP/1.0, which nginx speaks unless it is told otherwise, that end has to be a reset.
 */
export function breakOff(response: ResponseWriter): void {
  if (response.chunkedEncoding || !response.socket) response.destroy();
  else response.socket.resetAndDestroy();
}
