import { type HttpFacts, recognizeFormat, statusOf } from '@sluice/formats';
import type { ResponseWriter } from '@sluice/http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limitLastStall } from '../answers/last-stall.ts';
import { replyHeaders } from '../answers/reply.ts';
import { closeExchange } from '../close-exchange.ts';
import type { Exchange } from '../exchange.ts';
import { httpFacts } from '../http-facts.ts';
import type { Services } from '../services.ts';

declare module 'node:http' {
  interface ServerResponse {
    /** Set with the request's, for who has nothing but the socket. */
    exchange?: Exchange;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the very first hook. A `WeakMap` keyed by request would cost time at every garbage collection. */
    exchange?: Exchange;
  }
}

/** The facts of a request that is being answered. */
export function exchangeOf({ exchange }: FastifyRequest): Exchange {
  if (!exchange) throw new TypeError('a request without its exchange');
  return exchange;
}

/**
 * Gives a request its id, and counts and logs it once when its response closes. Every response closes at some time,
 * even if the client never reads it.
 */
export function openExchange(
  facts: HttpFacts,
  format: string,
  response: ResponseWriter,
  services: Services,
): Exchange {
  const exchange: Exchange = {
    requestId: services.newRequestId(),
    arrivedAt: services.monotonic(),
    facts,
    format,
  };
  // The listener refers to the response only, so that a long stream does not keep fastify's objects in memory.
  response.on('close', () => {
    const { headersSent, statusCode } = response;
    if (!headersSent) exchange.outcome ??= 'cancelled';
    services.promptRoom.give(exchange);
    // Until there is a head, `statusCode` is the 200 that nobody was sent.
    closeExchange(exchange, headersSent ? statusCode : statusOf.cancelled, services);
  });
  limitLastStall(response, services.stallLimitMs, () => {
    services.metrics.slowReaders.inc();
    exchange.outcome = 'cut';
  });
  return exchange;
}

/** The exchange of a request that fastify handles. It is opened now if no hook has seen the request yet. */
export function noteRequest(http: FastifyRequest, reply: FastifyReply, services: Services): Exchange {
  if (http.exchange) return http.exchange;
  const facts = httpFacts(http.raw.url ?? '/', http.headers);
  const exchange = openExchange(facts, recognizeFormat(facts).format, reply.raw, services);
  http.exchange = exchange;
  reply.raw.exchange = exchange;
  reply.headers(replyHeaders(exchange, services));
  return exchange;
}

/** Registers the first hook, which opens the exchange of each request, and the count of open connections. */
export function registerObservation(app: FastifyInstance, services: Services): void {
  app.decorateRequest('exchange');
  app.addHook('onRequest', (http, reply, done) => {
    noteRequest(http, reply, services);
    done();
  });
  app.server.on('connection', (socket) => {
    services.metrics.openConnections.inc();
    socket.on('close', () => services.metrics.openConnections.dec());
  });
}
