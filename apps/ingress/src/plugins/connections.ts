import type { ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type FastPathOptions, openFastPath } from '../fast-path/fast-path.ts';

/** What an in-band error gets to reach a client before its connection is cut, milliseconds. */
const flushMs = 500;

export type ConnectionOptions = Omit<FastPathOptions, 'isClosing' | 'onHandOver'>;

/** All connections of a server. */
export interface Connections {
  /**
   * Closes the server: nobody connects any more, what comes on connections that are there is answered as their last
   * until nothing does, and what is in flight ends by itself. When `limit` aborts, `failAll` ends what can be told so, and
   * connections that are still open shortly after (a request that never arrived whole) are cut.
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
  // Before the framework, which may have written the head afterwards.
  app.server.prependListener('request', ({ socket }, response) => {
    unused.delete(socket);
    unanswered.add(response);
    quiet?.refresh();
    clearTimeout(lastWaits.get(socket));
    if (isClosing) response.shouldKeepAlive = false;
    response.on('close', () => {
      unanswered.delete(response);
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
    // Who is told asks on another connection, and not into one that is closing. Who was told to stay gets a last answer.
    for (const response of unanswered) if (!response.headersSent) response.shouldKeepAlive = false;
  };
  app.addHook('preClose', (done) => {
    announceEnd();
    fastPath.retire();
    for (const socket of unused) socket.destroy();
    done();
  });
  /** Resolves when nobody has asked anything for a while, when no connection is left, or when `limit` aborts. */
  const turnAway = (limit: AbortSignal) =>
    new Promise<void>((resolve) => {
      announceEnd();
      if (limit.aborted) return resolve();
      quiet = setTimeout(resolve, options.quietMs);
      limit.addEventListener('abort', () => resolve(), { once: true });
      app.server.once('close', resolve);
      // Not the HTTP server's own, which closes the connections that wait for a request along with it.
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
      // Whom the kernel has let in already is taken in yet: the end of the listening would reset their connections.
      await setImmediate();
      await turnAway(limit);
      clearTimeout(quiet);
      quiet = undefined;
      await app.close();
      clearTimeout(cutting);
    },
  };
}
