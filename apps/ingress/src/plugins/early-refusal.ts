import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/**
 * How long the rest of a request is read and thrown away, so that an answer that is already written reaches the client.
 */
const lingerLimitMs = 30_000;

/**
 * Lets a refusal reach a client that is still sending. A connection that closes with unread bytes is reset, and the
 * reset overtakes the answer: the client would see a broken socket instead of its 401 or 413. So the answer is written
 * at once, and the rest of the request is read after it. If the connection stays open, Node itself reads the rest.
 */
export function registerEarlyRefusal(app: FastifyInstance): void {
  app.addHook('onSend', (http, reply, payload, done) => {
    // Fastify closes the connection whenever something is wrong with a body, even one that has arrived in full.
    if (reply.hasHeader('connection') && reply.raw.shouldKeepAlive) {
      // Node says how long a connection is kept only where it sets both headers itself.
      const seconds = Math.floor(app.server.keepAliveTimeout / 1_000);
      reply.headers({ connection: 'keep-alive', 'keep-alive': `timeout=${seconds}` });
    }
    if (!http.raw.complete && !reply.raw.shouldKeepAlive) lingerBehind(http.raw);
    done(null, payload);
  });
}

/** Makes the server keep reading an incomplete request, up to its end, before it destroys the connection. */
function lingerBehind(message: IncomingMessage): void {
  const { socket } = message;
  const destroySoon = socket.destroySoon.bind(socket);
  // Node calls this as soon as it has written the last answer.
  socket.destroySoon = () => {
    if (message.complete) return destroySoon();
    socket.end();
    message.resume();
    message.once('end', destroySoon);
    const timer = setTimeout(() => socket.destroy(), lingerLimitMs);
    socket.once('close', () => clearTimeout(timer));
  };
}
