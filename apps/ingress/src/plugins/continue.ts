import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/**
 * Answers `expect: 100-continue`, but only when it is that request's turn. If an earlier answer of the connection is
 * still to come, Node itself would write the `100 Continue` between the head and the body of this request's answer: the
 * client would take it for the beginning of the body, and the end of the body for the beginning of the next answer.
 */
export function registerContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (response.socket) response.writeContinue();
    else {
      response.once('socket', () => {
        // A client that already has its answer need not send the body.
        if (!response.headersSent) response.writeContinue();
      });
    }
    app.server.emit('request', request, response);
  });
}
