import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** What is read and thrown away for the sake of an answer, and for how long. */
const lingerLimitBytes = 1024 * 1024;
const lingerLimitMs = 1_000;

/**
 * Lets a refusal reach a client that is still sending. A connection that closes with unread bytes is reset, and the
 * reset overtakes the answer: the client would see a broken socket instead of its 401 or 503. A connection that
 * stays open needs none of this: Node reads the rest itself.
 */
export function registerEarlyRefusal(app: FastifyInstance): void {
  app.addHook('onSend', (http, reply, payload, done) => {
    if (http.raw.complete || reply.raw.shouldKeepAlive) done(null, payload);
    else void readRest(http.raw).then(() => done(null, payload));
  });
}

async function readRest(message: IncomingMessage): Promise<void> {
  if (message.destroyed || message.readableEnded) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, lingerLimitMs);
  let bytes = 0;
  message.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > lingerLimitBytes) resolve();
  });
  for (const end of ['end', 'close', 'error']) message.once(end, () => resolve());
  await promise;
  clearTimeout(timer);
}
