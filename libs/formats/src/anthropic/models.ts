import type { Json, JsonObject } from '@sluice/canonical';
import type { PublicModel, Query } from '../codec.ts';
import { invalid } from './wire.ts';

const defaultLimit = 20;
const largestLimit = 1000;

/** One model. Every served model is active; unknown limits are null. */
export function encodeModel(model: PublicModel): JsonObject {
  return {
    type: 'model',
    id: model.id,
    display_name: model.displayName,
    created_at: new Date(model.createdAt).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: model.contextTokens ?? null,
    max_tokens: model.maxOutputTokens ?? null,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}

/** A page of the models in the given order, after `after_id` or before `before_id`. */
export function encodeModelList(models: readonly PublicModel[], query: Query): Json {
  const limit = readLimit(query.limit);
  const { after_id: after, before_id: before } = query;
  if (after && before) throw invalid('before_id', 'cannot be combined with after_id');
  const lifecycle = query.lifecycle ?? query['lifecycle[]'];
  const listed = lifecycle && !lifecycle.split(',').includes('active') ? [] : models;
  const start = after ? place(listed, after, 'after_id') + 1 : 0;
  const end = before ? place(listed, before, 'before_id') : listed.length;
  const page = before ? listed.slice(Math.max(0, end - limit), end) : listed.slice(start, start + limit);
  return {
    data: page.map(encodeModel),
    has_more: before ? end > limit : start + limit < listed.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function readLimit(text: string | undefined): number {
  if (!text) return defaultLimit;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= largestLimit) return limit;
  throw invalid('limit', `must be a whole number from 1 to ${largestLimit}`);
}

function place(models: readonly PublicModel[], id: string, param: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index === -1) throw invalid(param, 'no such model');
  return index;
}
