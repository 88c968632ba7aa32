import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type FastPathOptions, openFastPath } from '../fast-path/fast-path.ts';

/** What an in-band error gets to reach a client before its connection is cut, milliseconds. */
const flushMs = 500;

export type ConnectionOptions = Omit<FastPathOptions, 'isClosing' | 'onHandOver'>;

/** All connections of a server. */
export interface Connections {
  /**
   * Closes the server: what is in flight ends by itself. When `limit` aborts, `failAll` ends what can be told so,
   * and connections that are still open shortly after (a request that never arrived whole) are cut.
   */
  close(limit: AbortSignal, failAll: () => void): Promise<void>;
}

/**
 * Puts the fast path before the server, and lets it close as soon as its last answer is written. Node itself would
 * wait for connections that never asked anything, as clients and balancers keep them, and for those whose answer
 * ended after the close began. Call it first: what listens for connections before does not hear of all of them.
 */
export function registerConnections(app: FastifyInstance, options: ConnectionOptions): Connections {
  const unused = new Set<Socket>();
  const unanswered = new Set<ServerResponse>();
  let isClosing = false;
  const fastPath = openFastPath(app.server, {
    ...options,
    isClosing: () => isClosing,
    onHandOver: (socket) => {
      unused.add(socket);
      socket.on('close', () => unused.delete(socket));
    },
  });
  // Before the framework, which may have written the head afterwards.
  app.server.prependListener('request', ({ socket }, response) => {
    unused.delete(socket);
    unanswered.add(response);
    if (isClosing) response.shouldKeepAlive = false;
    response.on('close', () => {
      unanswered.delete(response);
      if (isClosing) socket.destroySoon();
    });
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    fastPath.retire();
    for (const socket of unused) socket.destroy();
    // Who is told asks on another connection, and not into one that is closing.
    for (const response of unanswered) response.shouldKeepAlive = false;
    done();
  });
  return {
    async close(limit, failAll) {
      let cutting: NodeJS.Timeout | undefined;
      const cut = () => {
        failAll();
        cutting = setTimeout(() => {
          fastPath.cut();
          app.server.closeAllConnections();
        }, flushMs);
      };
      limit.addEventListener('abort', cut, { once: true });
      await app.close();
      clearTimeout(cutting);
    },
  };
}
