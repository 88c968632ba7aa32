import type { Json, JsonObject } from '@sluice/canonical';
import type { PublicModel, Query } from '../codec.ts';
import { invalidField } from './wire.ts';

const defaultPageSize = 50;
const largestPageSize = 1000;

/** One model, as both the list and the retrieval show it. */
export function encodeModel(model: PublicModel): JsonObject {
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: '1',
    displayName: model.displayName,
    description: '',
    ...(model.contextTokens !== undefined && { inputTokenLimit: model.contextTokens }),
    ...(model.maxOutputTokens !== undefined && { outputTokenLimit: model.maxOutputTokens }),
    supportedGenerationMethods: ['generateContent', 'countTokens', 'streamGenerateContent'],
  };
}

/**
 * A page of the list. The last page has no `nextPageToken`, or clients would go on asking. Sizes above 1000 count as
 * 1000.
 */
export function encodeModelList(models: readonly PublicModel[], query: Query): Json {
  const size = pageSize(query.pageSize ?? query.page_size);
  const offset = pageOffset(query.pageToken ?? query.page_token);
  const end = offset + size;
  return {
    models: models.slice(offset, end).map(encodeModel),
    ...(end < models.length && { nextPageToken: btoa(`offset:${end}`) }),
  };
}

/** Absent and 0 mean the default. */
function pageSize(text: string | undefined): number {
  if (!text) return defaultPageSize;
  if (!/^\d{1,9}$/.test(text)) {
    throw invalidField('pageSize', 'expected a number of 0 or more');
  }
  return Math.min(Number(text) || defaultPageSize, largestPageSize);
}

function pageOffset(token: string | undefined): number {
  if (!token) return 0;
  const offset = /^offset:(\d{1,9})$/.exec(readToken(token))?.[1];
  if (offset === undefined) {
    throw invalidField('pageToken', 'not a token of this list');
  }
  return Number(offset);
}

function readToken(token: string): string {
  try {
    return atob(token);
  } catch {
    return '';
  }
}
