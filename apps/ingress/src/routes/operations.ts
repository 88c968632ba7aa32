import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { sendJson } from '../answers/reply.ts';
import { exchangeOf } from '../plugins/observe.ts';
import type { Services } from '../services.ts';

/**
 * Marks a request as a probe. Balancers probe all day: counted as requests, probes would dilute the failure rate, and
 * the 503 that they get during a drain would count as a failure.
 */
const markProbe: onRequestHookHandler = (http, _reply, done) => {
  exchangeOf(http).isProbe = true;
  done();
};

/** Liveness and readiness on the public port, and the probes that coding CLIs send before their first call. */
export function registerOperations(app: FastifyInstance, services: Services): void {
  app.get('/livez', { onRequest: markProbe }, (_http, reply) => reply.type('text/plain').send('ok'));
  app.get('/readyz', { onRequest: markProbe }, (_http, reply) => {
    const readiness = services.isReady();
    return sendJson(reply.code(readiness.ready ? 200 : 503), { ...readiness });
  });
  for (const url of ['/', '/api/hello']) {
    app.route({
      method: 'HEAD',
      url,
      onRequest: markProbe,
      handler: (_http, reply) => reply.code(200).send(),
    });
  }
}
