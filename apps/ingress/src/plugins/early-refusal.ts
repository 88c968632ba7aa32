import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** How long the rest of a request is read and thrown away for the sake of an answer that is written already. */
const lingerLimitMs = 30_000;

/**
 * Lets a refusal reach a client that is still sending. A connection that closes with unread bytes is reset, and the
 * reset overtakes the answer: the client would see a broken socket instead of its 401 or 413. So the answer goes out at
 * once, and the rest of the request is read behind it. A connection that stays open needs no more: Node reads the rest
 * itself.
 */
export function registerEarlyRefusal(app: FastifyInstance): void {
  app.addHook('onSend', (http, reply, payload, done) => {
    // The framework closes whenever something is wrong with a body, also where all of that has come.
    if (reply.hasHeader('connection') && reply.raw.shouldKeepAlive) reply.header('connection', 'keep-alive');
    if (!http.raw.complete && !reply.raw.shouldKeepAlive) lingerBehind(http.raw);
    done(null, payload);
  });
}

/** Makes the server's end of a connection wait for the client's, where its request is still coming. */
function lingerBehind(message: IncomingMessage): void {
  const { socket } = message;
  const destroySoon = socket.destroySoon.bind(socket);
  // What Node calls as soon as it has written the last answer.
  socket.destroySoon = () => {
    if (message.complete) return destroySoon();
    socket.end();
    message.resume();
    message.once('end', destroySoon);
    const timer = setTimeout(() => socket.destroy(), lingerLimitMs);
    socket.once('close', () => clearTimeout(timer));
  };
}
