import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'node:http' {
  interface ServerResponse {
    /** Whether the client may be holding back its body until it is told to go on. */
    awaitsContinue?: boolean;
  }
}

/**
 * Answers `expect: 100-continue` once the head has passed its checks, so that nobody is invited to send what is thrown
 * away. Register it before other `onSend` hooks.
 */
export function registerContinue(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    response.awaitsContinue = true;
    app.server.emit('request', request, response);
  });
  // The checks of the head are `onRequest` hooks, which come before.
  app.addHook('preParsing', (http, { raw: response }, payload, done) => {
    if (response.awaitsContinue && !isTooLarge(http)) inviteInTurn(response);
    done(null, payload);
  });
  app.addHook('onSend', (_http, { raw: response }, payload, done) => {
    // Whether the body comes is not known, and so where the next request begins.
    if (response.awaitsContinue) response.shouldKeepAlive = false;
    done(null, payload);
  });
}

/** Whether fastify refuses the body by its length alone. */
function isTooLarge({ headers, routeOptions: { bodyLimit } }: FastifyRequest): boolean {
  return bodyLimit !== undefined && Number(headers['content-length']) > bodyLimit;
}

/**
 * If an earlier answer of the connection is still to come, Node would write the `100 Continue` between the head and the
 * body of this request's answer: the client would take it for the beginning of the body, and the end of the body for
 * the beginning of the next answer.
 */
function inviteInTurn(response: ServerResponse): void {
  if (response.socket) invite(response);
  else response.once('socket', () => invite(response));
}

function invite(response: ServerResponse): void {
  // A client that already has its answer need not send the body.
  if (response.headersSent) return;
  response.writeContinue();
  response.awaitsContinue = false;
}
