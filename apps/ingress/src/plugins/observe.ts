import { recognizeFormat } from '@sluice/formats';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { closeExchange, type Exchange } from '../exchange.ts';
import { httpFacts } from '../http-facts.ts';
import { replyHeaders } from '../reply.ts';
import type { Services } from '../services.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first of all hooks. A map beside the requests would cost at every collection of garbage. */
    exchange?: Exchange;
  }
}

/** The facts of a request that is being answered. */
export function exchangeOf({ exchange }: FastifyRequest): Exchange {
  if (!exchange) throw new TypeError('a request without its exchange');
  return exchange;
}

/** Gives a request its id and its exchange, and counts and logs it once when its socket is done with it. */
export function openExchange(http: FastifyRequest, reply: FastifyReply, services: Services): Exchange {
  if (http.exchange) return http.exchange;
  const facts = httpFacts(http);
  const exchange: Exchange = {
    requestId: services.newRequestId(),
    arrivedAt: services.monotonic(),
    facts,
    format: recognizeFormat(facts).format,
  };
  http.exchange = exchange;
  reply.headers(replyHeaders(exchange));
  // The listener holds the response alone: a stream that is open for minutes needs nothing of the framework's.
  const { raw } = reply;
  raw.on('close', () => closeExchange(exchange, raw.statusCode, services));
  return exchange;
}

export function registerObservation(app: FastifyInstance, services: Services): void {
  app.decorateRequest('exchange');
  app.addHook('onRequest', (http, reply, done) => {
    openExchange(http, reply, services);
    done();
  });
  app.server.on('connection', (socket) => {
    services.metrics.openConnections.inc();
    socket.on('close', () => services.metrics.openConnections.dec());
  });
}
