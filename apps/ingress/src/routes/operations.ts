import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { sendJson } from '../answers/reply.ts';
import { exchangeOf } from '../plugins/observe.ts';
import type { Services } from '../services.ts';

/** Balancers ask all day: counted as requests, they would make failures rare, and their 503 of a drain would be one. */
const onRequest: onRequestHookHandler = (http, _reply, done) => {
  exchangeOf(http).isProbe = true;
  done();
};

/** Liveness and readiness on the public port, and the probes that coding CLIs send before they talk. */
export function registerOperations(app: FastifyInstance, services: Services): void {
  app.get('/livez', { onRequest }, (_http, reply) => reply.type('text/plain').send('ok'));
  app.get('/readyz', { onRequest }, (_http, reply) => {
    const readiness = services.isReady();
    return sendJson(reply.code(readiness.ready ? 200 : 503), { ...readiness });
  });
  for (const url of ['/', '/api/hello']) {
    app.route({ method: 'HEAD', url, onRequest, handler: (_http, reply) => reply.code(200).send() });
  }
}
