import { isJsonObject } from '@sluice/canonical';
import { expect, test } from 'vitest';
import type { PublicModel, Query } from '../codec.ts';
import { encodeModel, encodeModelList } from './models.ts';

const models: PublicModel[] = Array.from({ length: 120 }, (_, index) => ({
  id: `m${index}`,
  displayName: `Model ${index}`,
  createdAt: 0,
}));

function page(query: Query): { names: unknown[]; next: string | undefined } {
  const body = encodeModelList(models, query);
  if (!isJsonObject(body) || !Array.isArray(body.models)) throw new Error('no list');
  const next = body.nextPageToken;
  return {
    names: body.models.map((model) => isJsonObject(model) && model.baseModelId),
    next: typeof next === 'string' ? next : undefined,
  };
}

test('pages follow each other and the last one has no token', () => {
  const names: unknown[] = [];
  let next: string | undefined;
  let pages = 0;
  do {
    const found = page({ pageToken: next });
    names.push(...found.names);
    next = found.next;
    pages += 1;
  } while (next !== undefined);
  expect(names).toEqual(models.map(({ id }) => id));
  expect(pages).toBe(3);
});

test('a size may be asked for in either spelling, and 0 is the default', () => {
  expect(page({ pageSize: '7' }).names).toHaveLength(7);
  expect(page({ page_size: '7', page_token: page({ pageSize: '7' }).next }).names[0]).toBe('m7');
  expect(page({ pageSize: '0' }).names).toHaveLength(50);
  expect(page({ pageSize: '100000' })).toEqual({ names: models.map(({ id }) => id), next: undefined });
});

test.each([{ pageSize: '-1' }, { pageSize: 'many' }, { pageToken: 'b2Zmc2V0' }, { pageToken: '\u0000' }])(
  '%j makes no sense',
  (query) => {
    const [param] = Object.keys(query);
    expect(() => page(query)).toThrow(
      expect.objectContaining({ kind: 'invalid-request', options: { param } }),
    );
  },
);

test('a model has its limits if they are known', () => {
  const model = { id: 'org/m:v1', displayName: 'M', createdAt: 0 };
  expect(encodeModel({ ...model, contextTokens: 32768, maxOutputTokens: 8192 })).toEqual({
    name: 'models/org/m:v1',
    baseModelId: 'org/m:v1',
    version: '1',
    displayName: 'M',
    description: '',
    inputTokenLimit: 32768,
    outputTokenLimit: 8192,
    supportedGenerationMethods: ['generateContent', 'countTokens', 'streamGenerateContent'],
  });
  expect(encodeModel(model)).not.toHaveProperty('inputTokenLimit');
});
