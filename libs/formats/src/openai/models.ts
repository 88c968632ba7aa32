import type { Json } from '@sluice/canonical';
import type { PublicModel } from '../codec.ts';

/** One model, as both the list and the retrieval show it; `created` is in seconds. */
export function encodeModel(model: PublicModel): Json {
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt / 1000),
    owned_by: 'sluice',
    // The name that self-hosted servers of this dialect use for the context window.
    ...(model.contextTokens !== undefined && { max_model_len: model.contextTokens }),
  };
}

/** The dialect has no paging, so the list is always complete. */
export function encodeModelList(models: readonly PublicModel[]): Json {
  return { object: 'list', data: models.map(encodeModel) };
}
