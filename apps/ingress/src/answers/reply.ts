import type { ErrorInfo, Json } from '@sluice/canonical';
import { formats, recognizeFormat, type ServerCodec } from '@sluice/formats';
import type { ResponseWriter } from '@sluice/http';
import type { FastifyReply } from 'fastify';
import { type Exchange, noteError } from '../exchange.ts';
import type { Services } from '../services.ts';

/** The format in which a request is answered. */
export function codecOf({ format, facts }: Exchange): ServerCodec {
  const known = formats.find(({ server }) => server.format === format);
  return known?.server ?? recognizeFormat(facts);
}

/** The headers that every answer has, whatever it is. The id has two names because SDKs look for different ones. */
export function idHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, 'request-id': requestId };
}

/** The headers of every answer to a request that could be read, errors included. */
export function replyHeaders(exchange: Exchange, { now }: Pick<Services, 'now'>): Record<string, string> {
  const { requestId, rates, model, askedModel } = exchange;
  const headers = idHeaders(requestId);
  if (rates) Object.assign(headers, codecOf(exchange).encodeRates(rates, now()));
  // A name may have letters that a header may not.
  if (model !== undefined && askedModel !== undefined) headers['x-sluice-model'] = encodeURI(model);
  if (exchange.queueWaitMs !== undefined) headers['x-sluice-queue-wait-ms'] = String(exchange.queueWaitMs);
  return headers;
}

/** Writes an error in the client's format with its true status. The response must not have begun. */
export function writeError(
  response: ResponseWriter,
  codec: ServerCodec,
  error: ErrorInfo,
  exchange: Exchange,
  services: Pick<Services, 'now'>,
): void {
  noteError(exchange, error);
  const { status, headers, body } = codec.encodeError(error, { requestId: exchange.requestId });
  writeJson(response, status, { ...replyHeaders(exchange, services), ...headers }, body);
}

/** Writes a whole JSON answer directly, without fastify. */
export function writeJson(
  response: ResponseWriter,
  status: number,
  headers: Record<string, string>,
  body: Json,
): void {
  const text = JSON.stringify(body);
  headers['content-type'] = 'application/json';
  headers['content-length'] = String(Buffer.byteLength(text));
  response.writeHead(status, headers);
  response.end(text);
}

/** Sends a JSON body with exactly the type `application/json`: for a string, fastify would add a charset. */
export function sendJson(reply: FastifyReply, body: Json): FastifyReply {
  return reply.header('content-type', 'application/json').send(Buffer.from(JSON.stringify(body)));
}
