import { type ErrorInfo, errorInfoOf, SluiceError } from '@sluice/canonical';
import { recognizeFormat } from '@sluice/formats';
import { breakOff, type ResponseWriter } from '@sluice/http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { codecOf, replyHeaders, sendJson, writeError } from '../answers/reply.ts';
import { type Exchange, noteError } from '../exchange.ts';
import type { Services } from '../services.ts';
import { noteRequest } from './observe.ts';

/** The meaning of fastify's own refusals. Any other error that fastify throws is a defect. */
const byFrameworkCode: Readonly<Record<string, ErrorInfo>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { kind: 'too-large', message: 'the request body is too large' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    kind: 'invalid-request',
    message: 'the body is not as long as content-length says',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    kind: 'unsupported-media',
    message: 'the content type must be application/json',
  },
  FST_ERR_BAD_URL: { kind: 'invalid-request', message: 'the path is not a valid URL path' },
  FST_ERR_MAX_URL_LENGTH: { kind: 'not-found', message: 'the path is too long' },
  FST_ERR_ASYNC_CONSTRAINT: { kind: 'invalid-request', message: 'the host header is not valid' },
};

/** Answers every error, thrown by us or by fastify, in the caller's format. */
export function registerErrors(app: FastifyInstance, services: Services): void {
  app.setErrorHandler((error, http, reply) => sendError(error, http, reply, services));
  const nothing = (http: FastifyRequest, reply: FastifyReply) =>
    nothingAt(noteRequest(http, reply, services));
  app.setNotFoundHandler((http, reply) => sendError(nothing(http, reply), http, reply, services));
  // This comes before the body is read: an error about the body would hide that the path is the mistake.
  app.addHook('onRequest', (http, reply, done) => (http.is404 ? done(nothing(http, reply)) : done()));
}

/**
 * Names the right path: most such clients have a wrong base address, or use an API that is not served
 * (`/v1/responses`).
 */
function nothingAt({ facts }: Exchange): SluiceError {
  const [call] = recognizeFormat(facts).routes;
  return new SluiceError('not-found', `there is nothing at this path: calls go to ${call}`);
}

/** Sends the error of a request that fastify handles. */
export function sendError(
  error: unknown,
  http: FastifyRequest,
  reply: FastifyReply,
  services: Services,
): FastifyReply {
  // Fastify refuses some requests (those whose path is not valid) before any hook has seen them.
  const exchange = noteRequest(http, reply, services);
  const info = refusalOf(error, exchange, reply.raw, services);
  if (!info) return reply;
  noteError(exchange, info);
  const { status, headers, body } = codecOf(exchange).encodeError(info, exchange);
  return sendJson(reply.code(status).headers({ ...replyHeaders(exchange, services), ...headers }), body);
}

/** Writes the error of a request that fastify never saw. */
export function writeFailure(
  error: unknown,
  exchange: Exchange,
  response: ResponseWriter,
  services: Services,
): void {
  const info = refusalOf(error, exchange, response, services);
  if (info) writeError(response, codecOf(exchange), info, exchange, services);
}

/** The error to answer with. Absent if it is too late for a status: then the socket is cut, the only honest end. */
function refusalOf(
  error: unknown,
  exchange: Exchange,
  response: ResponseWriter,
  services: Services,
): ErrorInfo | undefined {
  const info = errorOf(error);
  if (info.kind === 'internal')
    services.logger.error({ err: error, requestId: exchange.requestId }, 'internal error');
  if (!response.headersSent && !response.destroyed) return info;
  breakOff(response);
  return undefined;
}

function errorOf(error: unknown): ErrorInfo {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = byFrameworkCode[code];
  if (known) return known;
  if (code === 'ECONNRESET' || code === 'ECONNABORTED')
    return { kind: 'cancelled', message: 'the client left' };
  return errorInfoOf(error);
}
