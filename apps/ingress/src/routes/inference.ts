import { estimateInputTokens, SluiceError } from '@sluice/canonical';
import type { Model, Pool } from '@sluice/catalog';
import { readCredentials, type ServerCodec, serverCodecs } from '@sluice/formats';
import type { Caller } from '@sluice/tenancy';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerPlan } from '../answer.ts';
import { exchangeOf } from '../plugins/observe.ts';
import { replyHeaders, sendJson } from '../reply.ts';
import type { Services } from '../services.ts';
import { singleAnswer } from '../single-answer.ts';
import { streamAnswer } from '../stream-answer.ts';

/** Registers the inference routes of every format: this is the way that a request takes through the house. */
export function registerInference(app: FastifyInstance, services: Services): void {
  for (const codec of serverCodecs) {
    for (const path of codec.routes) {
      app.post(path, {
        onRequest: (http) => authenticate(http, codec, services),
        handler: (http, reply) => answerCall(http, reply, codec, services),
      });
    }
  }
}

/** Before the body is read, so that neither a stranger nor a flood can make us read one. */
async function authenticate(http: FastifyRequest, codec: ServerCodec, services: Services): Promise<void> {
  const exchange = exchangeOf(http);
  exchange.format = codec.format;
  services.overload.check();
  exchange.caller = await services.keys.authenticate(readCredentials(exchange.facts));
  if (!codec.countsTokens(exchange.facts.path)) services.admission.checkPools(services.catalog.pools.keys());
}

async function answerCall(
  http: FastifyRequest,
  reply: FastifyReply,
  codec: ServerCodec,
  services: Services,
): Promise<unknown> {
  const exchange = exchangeOf(http);
  const { caller, requestId, facts } = exchange;
  if (!caller) throw new SluiceError('internal', 'a call went past authentication');

  const { operation, request, call } = codec.decodeRequest({ ...facts, body: http.body, requestId });
  const { model, pool } = findModel(request.model, caller, services);
  exchange.model = model.id;
  exchange.isStream = call.stream;
  if (operation === 'count-tokens') {
    return sendJson(reply, codec.encodeTokenCount(estimateInputTokens(request), call));
  }

  const { traceparent } = http.headers;
  const plan: AnswerPlan = { request, call, caller, model, pool };
  if (typeof traceparent === 'string') plan.traceparent = traceparent;

  if (!call.stream) {
    const generations = await singleAnswer(plan, exchange, reply.raw, services);
    reply.headers(replyHeaders(exchange));
    return sendJson(reply, codec.encodeResponse(generations, call));
  }
  await streamAnswer(plan, codec, exchange, reply.raw, services);
  reply.hijack();
  return undefined;
}

/** The model that a caller means and may use, and its pool. */
export function findModel(name: string, caller: Caller, { catalog }: Services): { model: Model; pool: Pool } {
  const model = catalog.resolve(name);
  const pool = model && catalog.pools.get(model.pool);
  if (!model || !pool) {
    throw new SluiceError('not-found', 'the model does not exist', {
      detail: 'model-not-found',
      param: 'model',
    });
  }
  if (!caller.allows(name) && !caller.allows(model.id)) {
    throw new SluiceError('permission-denied', `this key may not use the model ${model.id}`, {
      param: 'model',
    });
  }
  return { model, pool };
}
