import { recognizeFormat } from '@sluice/formats';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { replyHeaders } from '../answers/reply.ts';
import type { Exchange } from '../exchange.ts';
import { httpFacts } from '../http-facts.ts';
import { openExchange } from '../open-exchange.ts';
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
