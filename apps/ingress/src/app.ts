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

/**
 * The idle time that `keep-alive` headers promise. It is short because middleboxes forget idle connections after
 * minutes.
 */
const keepAliveMs = 75_000;
/**
 * How long an idle connection is really kept. Balancers ignore the promised time and reuse connections for as long as
 * they are set to (90 s for those in Go, ten minutes for Google's). If we closed earlier, they would now and then send
 * a request into the closing connection, and they may not repeat it.
 */
const idleLimitMs = 660_000;
/**
 * How long kept connections must be quiet before a drain closes them. Balancers go on sending on them until they hear
 * of the close, and may not repeat a request that crosses with it.
 */
const quietMs = 250;

/** The HTTP server of an ingress. */
export interface App extends Connections {
  fastify: FastifyInstance;
}

/** Builds the HTTP application: first the hooks that surround every call, then the routes. It does not listen yet. */
export async function buildApp(services: Services): Promise<App> {
  const app = fastify({
    bodyLimit: services.bodyLimitBytes,
    // Node's own time-outs, which fastify switches off by default: they cut clients that are slow to send their
    // request. 300 s is enough for the largest body over 2 Mbit/s, and only clients with a valid key get to send one.
    requestTimeout: 300_000,
    http: {
      headersTimeout: 20_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      keepAliveTimeoutBuffer: idleLimitMs - keepAliveMs,
    },
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: 'idle',
    // Requests that arrive during a drain are answered; fastify's own 503 would be in no caller's format.
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
  registerBody(app, services.promptRoom);
  registerOperations(app, services);
  registerDocumentation(app);
  registerModels(app, services);
  registerInference(app, services);
  registerWrongMethods(app);
  await app.ready();
  return { fastify: app, ...connections };
}
