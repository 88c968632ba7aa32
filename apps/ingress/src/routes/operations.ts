import type { FastifyInstance } from 'fastify';
import { sendJson } from '../reply.ts';
import type { Services } from '../services.ts';

/** Liveness and readiness on the public port, and the probes that coding CLIs send before they talk. */
export function registerOperations(app: FastifyInstance, services: Services): void {
  app.get('/livez', (_http, reply) => reply.type('text/plain').send('ok'));
  app.get('/readyz', (_http, reply) => {
    const readiness = services.isReady();
    return sendJson(reply.code(readiness.ready ? 200 : 503), { ...readiness });
  });
  for (const url of ['/', '/api/hello']) {
    app.route({ method: 'HEAD', url, handler: (_http, reply) => reply.code(200).send() });
  }
}
