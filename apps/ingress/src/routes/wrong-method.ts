import { METHODS } from 'node:http';
import { SluiceError } from '@sluice/canonical';
import { serverCodecs } from '@sluice/formats';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { exchangeOf } from '../plugins/observe.ts';

/** Answers 405, with the allowed methods, where a path exists but not for this method. Register it last. */
export function registerWrongMethods(app: FastifyInstance): void {
  // Fastify knows only the usual ones. A CONNECT never reaches a route.
  const methods = METHODS.filter((method) => method !== 'CONNECT');
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const ofModels = new Set(serverCodecs.flatMap((codec) => codec.modelRoutes));
  for (const url of new Set([...serverCodecs.flatMap((codec) => codec.routes), ...ofModels])) {
    const allowed = methods.filter((method) => app.hasRoute({ method, url }));
    // Where calls share the path of models, a POST to what is no call finds nothing.
    const allow = (ofModels.has(url) ? allowed.filter((method) => method !== 'POST') : allowed).join(', ');
    app.route({
      method: methods.filter((method) => !allowed.includes(method)),
      url,
      onRequest: (http, reply, done) => done(refuseMethod(http, reply, allow)),
      handler: () => undefined,
    });
  }
}

/** Throws 405 if the path of a request to read a model is in fact that of a call, which takes POST only. */
export function assertNoCall(http: FastifyRequest, reply: FastifyReply): void {
  if (isCall(http)) throw refuseMethod(http, reply, 'POST');
}

function refuseMethod(http: FastifyRequest, reply: FastifyReply, allowed: string): SluiceError {
  const allow = isCall(http) ? 'POST' : allowed;
  reply.header('allow', allow);
  return new SluiceError('method-not-allowed', `this path takes ${allow}`);
}

function isCall(http: FastifyRequest): boolean {
  const { path } = exchangeOf(http).facts;
  return serverCodecs.some((codec) => codec.isCall(path));
}
