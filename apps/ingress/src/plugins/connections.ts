import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** What an in-band error gets to reach a client before its connection is cut, milliseconds. */
const flushMs = 500;

/**
 * Lets the server close as soon as its last answer is written. Node itself would wait for connections that
 * never asked anything, as clients and balancers keep them, and for those whose answer ended after the close began.
 */
export function registerConnections(app: FastifyInstance): void {
  const unused = new Set<Socket>();
  let isClosing = false;
  app.server.on('connection', (socket) => {
    if (isClosing) {
      socket.destroy();
      return;
    }
    unused.add(socket);
    socket.on('close', () => unused.delete(socket));
  });
  app.server.on('request', ({ socket }, response) => {
    unused.delete(socket);
    response.on('close', () => isClosing && socket.destroySoon());
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
    done();
  });
}

/**
 * Closes the server: what is in flight ends by itself. When `limit` aborts, `failAll` ends what can be told so,
 * and connections that are still open shortly after (a request that never arrived whole) are cut.
 */
export async function closeServer(
  app: FastifyInstance,
  limit: AbortSignal,
  failAll: () => void,
): Promise<void> {
  let cutting: NodeJS.Timeout | undefined;
  limit.addEventListener(
    'abort',
    () => {
      failAll();
      cutting = setTimeout(() => app.server.closeAllConnections(), flushMs);
    },
    { once: true },
  );
  await app.close();
  clearTimeout(cutting);
}
