import { type Json, SluiceError } from '@sluice/canonical';
import { toPublicModel, toPublicModels } from '@sluice/catalog';
import { readCredentials, recognizeFormat, serverCodecs } from '@sluice/formats';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendJson } from '../answers/reply.ts';
import { exchangeOf } from '../plugins/observe.ts';
import type { Services } from '../services.ts';
import { findModel } from './inference.ts';
import { assertNoCall } from './wrong-method.ts';

/** Registers the model lists. Formats share these paths, so the caller's headers decide which format answers. */
export function registerModels(app: FastifyInstance, services: Services): void {
  const paths = new Set(serverCodecs.flatMap((codec) => codec.modelRoutes));
  for (const path of paths) {
    app.get(path, {
      onRequest: async (http, reply) => {
        assertNoCall(http, reply);
        const exchange = exchangeOf(http);
        exchange.caller = await services.keys.authenticate(readCredentials(exchange.facts));
      },
      handler: (http, reply) => sendJson(reply, answer(http, path, services)),
    });
  }
}

function answer(http: FastifyRequest, path: string, services: Services): Json {
  const { caller, facts } = exchangeOf(http);
  const codec = recognizeFormat(facts);
  if (!caller) throw new SluiceError('internal', 'a call went past authentication');
  if (!path.endsWith('*')) {
    const models = toPublicModels(services.catalog, (name) => caller.allows(name));
    return codec.encodeModelList(models, facts.query);
  }
  const id = decodeName(facts.path.slice(path.length - 1));
  const { model } = findModel(id, caller, services);
  // A model that was asked for by an alias is shown under that alias.
  return codec.encodeModel(toPublicModel(model, id));
}

function decodeName(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (cause) {
    throw new SluiceError('not-found', 'the model does not exist', { detail: 'model-not-found', cause });
  }
}
