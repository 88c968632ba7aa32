import { SluiceError } from '@sluice/canonical';
import type { FastifyInstance } from 'fastify';

/**
 * Handles the requests that Node's server would refuse by itself, with an empty body and without anybody noticing. The
 * server must be created with `requireHostHeader: false`.
 */
export function registerNodeRefusals(app: FastifyInstance): void {
  // A request with an unknown expectation may be served all the same (RFC 9110, section 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('onRequest', (http, reply, done) => {
    if (http.headers.host !== undefined || http.raw.httpVersion === '1.0') return done();
    // A client that leaves out a header that HTTP/1.1 demands may have framed its body wrongly, too.
    reply.raw.shouldKeepAlive = false;
    done(new SluiceError('invalid-request', 'the request has no host header'));
  });
}
