import { type FastifyInstance, fastify } from 'fastify';
import { registerDocumentation } from './openapi/routes.ts';
import { registerBody } from './plugins/body.ts';
import { registerBodyRoom } from './plugins/body-room.ts';
import { refuseBrokenHttp } from './plugins/broken-http.ts';
import { type Connections, registerConnections } from './plugins/connections.ts';
import { registerContinue } from './plugins/continue.ts';
import { registerEarlyRefusal } from './plugins/early-refusal.ts';
import { registerErrors, sendError } from './plugins/errors.ts';
import { registerNodeRefusals } from './plugins/node-refusals.ts';
import { registerObservation } from './plugins/observe.ts';
import { registerInference, routeInference } from './routes/inference.ts';
import { registerModels } from './routes/models.ts';
import { registerOperations } from './routes/operations.ts';
import { registerWrongMethods } from './routes/wrong-method.ts';
import type { Services } from './services.ts';

/** How long a client is told that its connection waits for its next request; middleboxes forget one after minutes. */
const keepAliveMs = 75_000;
/**
 * How long it does wait. Balancers go by their own settings, and one that keeps a connection longer sends a request into
 * its end now and then, which it may not repeat: those in Go take 90 s, Google's ten minutes.
 */
const idleLimitMs = 660_000;
/**
 * Balancers send on, on connections that they keep, until they hear of the end, and may not repeat what is sent into it: kept
 * ones are closed when nobody has sent anything for so long.
 */
const quietMs = 250;

/** The HTTP server of an ingress. */
export interface App extends Connections {
  fastify: FastifyInstance;
}

/** Builds the HTTP application: what surrounds every call first, then the routes. It does not listen yet. */
export async function buildApp(services: Services): Promise<App> {
  const app = fastify({
    bodyLimit: services.bodyLimitBytes,
    // Node's own limits, which fastify switches off by default: a client that dawdles over its request is cut. The largest
    // body takes as long over a line of 2 Mbit/s, and who sends one has shown a key.
    requestTimeout: 300_000,
    http: {
      headersTimeout: 20_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      keepAliveTimeoutBuffer: idleLimitMs - keepAliveMs,
    },
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: 'idle',
    // What has begun to arrive is answered; the framework's refusal would be in nobody's format.
    return503OnClosing: false,
    routerOptions: { ignoreDuplicateSlashes: true, maxParamLength: 4_096 },
    clientErrorHandler: refuseBrokenHttp(services),
    frameworkErrors: (error, http, reply) => sendError(error, http, reply, services),
  });
  const { bodyLimitBytes, now } = services;
  const route = routeInference(services);
  const connections = registerConnections(app, {
    keepAliveMs,
    idleLimitMs,
    quietMs,
    bodyLimitBytes,
    route,
    now,
  });
  registerObservation(app, services);
  registerErrors(app, services);
  registerNodeRefusals(app);
  registerContinue(app);
  registerEarlyRefusal(app);
  registerBodyRoom(app, bodyLimitBytes);
  registerBody(app);
  registerOperations(app, services);
  registerDocumentation(app);
  registerModels(app, services);
  registerInference(app, services);
  registerWrongMethods(app);
  await app.ready();
  return { fastify: app, ...connections };
}
