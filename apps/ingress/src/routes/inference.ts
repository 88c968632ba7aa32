import { estimateInputTokens, readTraceContext, SluiceError } from '@sluice/canonical';
import type { Model, Pool } from '@sluice/catalog';
import { readCredentials, type ServerCodec, serverCodecs } from '@sluice/formats';
import type { FastHandler, ResponseWriter } from '@sluice/http';
import type { Caller } from '@sluice/tenancy';
import type { FastifyInstance } from 'fastify';
import { type AnswerPlan, deadlineOf } from '../answers/answer-plan.ts';
import { replyHeaders, writeJson } from '../answers/reply.ts';
import { singleAnswer } from '../answers/single-answer.ts';
import { streamAnswer } from '../answers/stream-answer.ts';
import { noBody, readBody, refuseCompressed } from '../body/read-body.ts';
import type { Exchange } from '../exchange.ts';
import { openSpan } from '../exchange-span.ts';
import { httpFacts } from '../http-facts.ts';
import { openExchange } from '../open-exchange.ts';
import { writeFailure } from '../plugins/errors.ts';
import { exchangeOf } from '../plugins/observe.ts';
import type { Services } from '../services.ts';

/** Registers the inference routes of every format. */
export function registerInference(app: FastifyInstance, services: Services): void {
  for (const codec of serverCodecs) {
    for (const path of codec.routes) {
      app.post(path, {
        onRequest: (http, _reply, done) => {
          const exchange = exchangeOf(http);
          exchange.format = codec.format;
          const checking = checkHead(exchange, codec, services);
          if (checking) checking.then(() => done(), done);
          else done();
        },
        handler: async (http, reply) => {
          if (http.body === undefined) throw noBody();
          await answerCall(exchangeOf(http), http.body, reply.raw, codec, services);
          // The answer bypasses fastify's own sending, which costs 13 of the 56 µs of a request that is answered at
          // once.
          reply.hijack();
        },
      });
    }
  }
}

/** The same routes for the fast path, which calls a handler only once the body is complete. */
export function routeInference(services: Services): (path: string) => FastHandler | undefined {
  const exact = new Map<string, FastHandler>();
  const below: [prefix: string, handler: FastHandler][] = [];
  for (const codec of serverCodecs) {
    const handler: FastHandler = (head, body, response) => {
      const facts = httpFacts(head.url, head.headers);
      const exchange = openExchange(facts, codec.format, response, services);
      const answer = () => {
        assertClientIsThere(response);
        const value = readBody(exchange, head.headers['content-type'], body, services.promptRoom);
        return answerCall(exchange, value, response, codec, services);
      };
      const fail = (error: unknown) => writeFailure(error, exchange, response, services);
      try {
        const checking = checkHead(exchange, codec, services);
        (checking ? checking.then(answer) : answer()).catch(fail);
      } catch (error) {
        fail(error);
      }
    };
    for (const path of codec.routes) {
      if (path.endsWith('*')) below.push([path.slice(0, -1), handler]);
      else exact.set(path, handler);
    }
  }
  return (path) => exact.get(path) ?? below.find(([prefix]) => path.startsWith(prefix))?.[1];
}

/**
 * Makes every check that needs only the head. They come before the body is read, so that neither a stranger nor a flood
 * of requests can make us read one. Returns no promise if the caller is already known.
 */
function checkHead(exchange: Exchange, codec: ServerCodec, services: Services): Promise<void> | undefined {
  const { facts } = exchange;
  services.overload.check();
  const credentials = readCredentials(facts);
  const welcome = (caller: Caller): void => {
    exchange.caller = caller;
    if (!codec.countsTokens(facts.path)) {
      services.dispatcher.checkHearing();
      services.admission.checkPools(services.catalog.pools.keys(), caller.tenant);
    }
    refuseCompressed(facts.headers);
  };
  const known = services.keys.recall(credentials);
  if (!known) return services.keys.authenticate(credentials).then(welcome);
  welcome(known);
  return undefined;
}

/**
 * Throws if the client has left, as it may while its key is looked up. Its `close` listeners have been called by then:
 * whatever is reserved after that would never be given back, and a listener that is added would never be called.
 */
function assertClientIsThere(response: ResponseWriter): void {
  if (response.destroyed) throw new SluiceError('cancelled', 'the client left');
}

/** Leads a call from its body to its answer. */
async function answerCall(
  exchange: Exchange,
  body: unknown,
  response: ResponseWriter,
  codec: ServerCodec,
  services: Services,
): Promise<void> {
  const { caller, requestId, facts } = exchange;
  if (!caller) throw new SluiceError('internal', 'a call went past authentication');
  assertClientIsThere(response);

  const { operation, request, call } = codec.decodeRequest({ ...facts, body, requestId });
  const { model, pool } = findModel(request.model, caller, services);
  exchange.model = model.id;
  exchange.isStream = call.stream;
  exchange.choices = call.choices;
  if (operation === 'count-tokens' && codec.encodeTokenCount) {
    const count = codec.encodeTokenCount(estimateInputTokens(request), call);
    writeJson(response, 200, replyHeaders(exchange, services), count);
    return;
  }

  openSpan(exchange, services.tracing);
  const trace = exchange.span?.context ?? readTraceContext(facts.headers);
  const deadlineAt = deadlineOf(model, services);
  const plan: AnswerPlan = { id: requestId, request, call, caller, model, pool, deadlineAt, trace };

  if (call.stream) await streamAnswer(plan, codec, exchange, response, services);
  else {
    const generations = await singleAnswer(plan, exchange, response, services);
    writeJson(response, 200, replyHeaders(exchange, services), codec.encodeResponse(generations, call));
  }
}

/** Resolves the name that a caller gave to a model that it may use, and to the model's pool. */
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
