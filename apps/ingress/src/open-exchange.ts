import { type HttpFacts, statusOf } from '@sluice/formats';
import type { ResponseWriter } from '@sluice/http';
import { limitLastStall } from './answers/last-stall.ts';
import { closeExchange } from './close-exchange.ts';
import type { Exchange } from './exchange.ts';
import type { Services } from './services.ts';

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
