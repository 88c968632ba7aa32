import { SluiceError } from '@sluice/canonical';
import { serverCodecs } from '@sluice/formats';
import type { FastifyInstance, HTTPMethods } from 'fastify';

const methods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Answers 405 with what is allowed wherever a path exists and the method does not. Register it last. */
export function registerWrongMethods(app: FastifyInstance): void {
  const paths = new Set(serverCodecs.flatMap((codec) => [...codec.routes, ...codec.modelRoutes]));
  for (const url of paths) {
    const allowed = methods.filter((method) => app.hasRoute({ method, url }));
    const allow = allowed.join(', ');
    app.route({
      method: methods.filter((method) => !allowed.includes(method)),
      url,
      onRequest: (_http, reply, done) => {
        reply.header('allow', allow);
        done(new SluiceError('method-not-allowed', `this path takes ${allow}`));
      },
      handler: () => undefined,
    });
  }
}
