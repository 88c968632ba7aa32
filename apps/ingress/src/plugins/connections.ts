import type { ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type FastPathOptions, openFastPath } from '@sluice/http';
import { type Seat, TransientSet } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';

/** How long an in-band error has to reach a client before the connection is cut, milliseconds. */
const flushMs = 500;

/** What the fast path needs, except what the server itself decides. */
export type ConnectionOptions = Omit<FastPathOptions, 'isClosing' | 'onHandOver'>;

/** A response that is not complete. */
interface Unanswered {
  response: ServerResponse;
  seat?: Seat<Unanswered> | undefined;
}

/** All connections of a server. */
export interface Connections {
  /**
   * Closes the server. New connections are no longer accepted; requests that still come on existing ones are answered,
   * each as the last of its connection, until no more come; requests in flight end by themselves. When `limit` aborts,
   * `failAll` ends the requests that can be told, and connections that are still open shortly after (those of requests
   * that never arrived in full) are cut.
   */
  close(limit: AbortSignal, failAll: () => void): Promise<void>;
}

/**
 * Puts the fast path before the server, and makes the server close as soon as its last answer is written. Node by
 * itself would also wait for connections that have never carried a request, which clients and balancers keep open, and
 * for those whose answer ended after the close began. Call it first: `connection` listeners that were added earlier
 * miss the connections of the fast path.
 */
export function registerConnections(app: FastifyInstance, options: ConnectionOptions): Connections {
  const unused = new Set<Socket>();
  const unanswered = new TransientSet<Unanswered>();
  const lastWaits = new WeakMap<Socket, NodeJS.Timeout>();
  let isClosing = false;
  let quiet: NodeJS.Timeout | undefined;
  const fastPath = openFastPath(app.server, {
    ...options,
    isClosing: () => isClosing,
    route: (path) => {
      quiet?.refresh();
      return options.route(path);
    },
    onHandOver: (socket) => {
      unused.add(socket);
      socket.on('close', () => unused.delete(socket));
    },
  });
  // This listener runs before fastify's, after which the head may have been written.
  app.server.prependListener('request', ({ socket }, response) => {
    unused.delete(socket);
    const answer: Unanswered = { response };
    unanswered.add(answer);
    quiet?.refresh();
    clearTimeout(lastWaits.get(socket));
    if (isClosing) response.shouldKeepAlive = false;
    response.on('close', () => {
      unanswered.delete(answer);
      if (!isClosing) return;
      if (!response.shouldKeepAlive) socket.destroySoon();
      else {
        const lastWait = setTimeout(() => socket.destroy(), options.quietMs);
        lastWaits.set(socket, lastWait);
      }
    });
  });
  const announceEnd = () => {
    isClosing = true;
    // A client that is told of the close in its head opens another connection. One whose head has promised an open
    // connection may send one more request on it, which is answered as its last.
    for (const { response } of unanswered) if (!response.headersSent) response.shouldKeepAlive = false;
  };
  app.addHook('preClose', (done) => {
    announceEnd();
    fastPath.retire();
    for (const socket of unused) socket.destroy();
    done();
  });
  /** Stops listening. Resolves when no request has come for a while, no connection is left, or `limit` aborts. */
  const stopListening = (limit: AbortSignal) =>
    new Promise<void>((resolve) => {
      announceEnd();
      if (limit.aborted) return resolve();
      quiet = setTimeout(resolve, options.quietMs);
      limit.addEventListener('abort', () => resolve(), { once: true });
      app.server.once('close', resolve);
      // The HTTP server's own `close` would also close idle connections, on which a last request may be on its way.
      Server.prototype.close.call(app.server);
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
      // Connections that the kernel has already accepted are taken in first: they would be reset with the listening
      // socket.
      await setImmediate();
      await stopListening(limit);
      clearTimeout(quiet);
      quiet = undefined;
      await app.close();
      clearTimeout(cutting);
    },
  };
}
