import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * Answers `expect: 100-continue` once the head has passed its checks, so that nobody is invited to send what is thrown
 * away. Register it before other `onSend` hooks.
 */
export function registerContinue(app: FastifyInstance): void {
  /** The answers to clients that may be holding back their bodies until they are told to go on. */
  const uninvited = new WeakSet<ServerResponse>();
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    uninvited.add(response);
    app.server.emit('request', request, response);
  });
  // The checks of the head are `onRequest` hooks, which come before.
  app.addHook('preParsing', (http, { raw: response }, payload, done) => {
    if (uninvited.has(response) && !isTooLarge(http)) inTurn(response, () => invite(response, uninvited));
    done(null, payload);
  });
  app.addHook('onSend', (_http, { raw: response }, payload, done) => {
    // Whether the body comes is not known, and so where the next request begins.
    if (uninvited.has(response)) response.shouldKeepAlive = false;
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
function inTurn(response: ServerResponse, callback: () => void): void {
  if (response.socket) callback();
  else response.once('socket', callback);
}

function invite(response: ServerResponse, uninvited: WeakSet<ServerResponse>): void {
  // A client that already has its answer need not send the body.
  if (response.headersSent) return;
  response.writeContinue();
  uninvited.delete(response);
}
