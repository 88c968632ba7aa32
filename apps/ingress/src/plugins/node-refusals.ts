import { SluiceError } from '@sluice/canonical';
import type { FastifyInstance } from 'fastify';

/**
 * Takes over what Node's server would refuse by itself, with an empty body and unseen by anybody. It has to be told
 * `requireHostHeader: false`.
 */
export function registerNodeRefusals(app: FastifyInstance): void {
  // Whoever expects what nobody knows may be served all the same (RFC 9110, section 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('onRequest', (http, reply, done) => {
    if (http.headers.host !== undefined || http.raw.httpVersion === '1.0') return done();
    // Who leaves out what HTTP/1.1 demands may have framed its body as oddly.
    reply.raw.shouldKeepAlive = false;
    done(new SluiceError('invalid-request', 'the request has no host header'));
  });
}
