import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/**
 * Tells who asks before it sends a body to go on, and not before it is that request's turn. Behind another one whose answer
 * is still to come, Node itself would put the word between the head of this answer and its body: the client would take
 * it for the body's beginning, and the body's end for the beginning of the next answer.
 */
export function registerContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (response.socket) response.writeContinue();
    else {
      response.once('socket', () => {
        // Whoever has its answer needs no leave to send.
        if (!response.headersSent) response.writeContinue();
      });
    }
    app.server.emit('request', request, response);
  });
}
