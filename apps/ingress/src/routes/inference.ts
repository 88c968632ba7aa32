import { estimateInputTokens, SluiceError } from '@sluice/canonical';
import type { Model, Pool } from '@sluice/catalog';
import { readCredentials, type ServerCodec, serverCodecs } from '@sluice/formats';
import type { Caller } from '@sluice/tenancy';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerPlan } from '../answer.ts';
import { refuseCompressed } from '../plugins/body.ts';
import { exchangeOf } from '../plugins/observe.ts';
import { replyHeaders, sendJson, writeJson } from '../reply.ts';
import type { Services } from '../services.ts';
import { singleAnswer } from '../single-answer.ts';
import { streamAnswer } from '../stream-answer.ts';

/** Registers the inference routes of every format: this is the way that a request takes through the house. */
export function registerInference(app: FastifyInstance, services: Services): void {
  for (const codec of serverCodecs) {
    for (const path of codec.routes) {
      app.post(path, {
        onRequest: (http, _reply, done) => {
          const look = authenticate(http, codec, services);
          if (look) look.then(() => done(), done);
          else done();
        },
        handler: (http, reply) => answerCall(http, reply, codec, services),
      });
    }
  }
}

/**
 * Before the body is read, so that neither a stranger nor a flood can make us read one. Absent instead of a promise
 * when the caller is known.
 */
function authenticate(
  http: FastifyRequest,
  codec: ServerCodec,
  services: Services,
): Promise<void> | undefined {
  const exchange = exchangeOf(http);
  exchange.format = codec.format;
  services.overload.check();
  const credentials = readCredentials(exchange.facts);
  const welcome = (caller: Caller): void => {
    exchange.caller = caller;
    if (!codec.countsTokens(exchange.facts.path))
      services.admission.checkPools(services.catalog.pools.keys());
    refuseCompressed(http);
  };
  const known = services.keys.recall(credentials);
  if (!known) return services.keys.authenticate(credentials).then(welcome);
  welcome(known);
  return undefined;
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

  if (call.stream) await streamAnswer(plan, codec, exchange, reply.raw, services);
  else {
    const generations = await singleAnswer(plan, exchange, reply.raw, services);
    writeJson(reply.raw, 200, replyHeaders(exchange), codec.encodeResponse(generations, call));
  }
  // Written past the framework, whose way costs 13 of 56 µs (a request that is answered at once).
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
