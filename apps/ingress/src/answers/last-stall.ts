import { Socket } from 'node:net';
import { breakOff, type ResponseWriter } from './response-writer.ts';

/**
 * Drops a client that takes nothing of the rest of its answer for `stallLimitMs`. Once all is written nobody writes or
 * waits any more, so nothing else would ever end it.
 */
export function limitLastStall(response: ResponseWriter, stallLimitMs: number, onStalled: () => void): void {
  response.on('prefinish', () => {
    const { socket } = response;
    // The kernel took it all, as nearly always; what Fastify injects has no connection at all.
    if (!(socket instanceof Socket) || socket.writableLength === 0) return;
    response.on('timeout', () => {
      // A stream drops its client itself.
      if (socket.destroyed) return;
      breakOff(response);
      onStalled();
    });
    response.setTimeout(stallLimitMs);
  });
}
