import { Socket } from 'node:net';
import { breakOff, type ResponseWriter } from '@sluice/http';

/**
 * Drops a client that reads nothing of the rest of its answer for `stallLimitMs`. Once everything is written, no writer
 * is left that would notice such a client.
 */
export function limitLastStall(response: ResponseWriter, stallLimitMs: number, onStalled: () => void): void {
  response.on('prefinish', () => {
    const { socket } = response;
    // Nearly always the kernel has taken everything at once. Requests that fastify injects have no real socket.
    if (!(socket instanceof Socket) || socket.writableLength === 0) return;
    response.on('timeout', () => {
      // The relay of a stream has dropped the client already.
      if (socket.destroyed) return;
      breakOff(response);
      onStalled();
    });
    response.setTimeout(stallLimitMs);
  });
}
