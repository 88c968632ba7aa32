import type { JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { rephrase } from '../rephrase.ts';
import { inNewestDraft } from './newest-draft.ts';

describe('a schema in JSON Schema 2020-12', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'another draft',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' },
      { type: 'object' },
    ],
    ['a list of items', { items: [{ type: 'str' }, true] }, { prefixItems: [{}, true] }],
    ['a bound that a flag excludes', { minimum: 3, exclusiveMinimum: true }, { exclusiveMinimum: 3 }],
    ['a bound that no flag excludes', { maximum: 3, exclusiveMaximum: false }, { maximum: 3 }],
    ['a flag without a bound', { exclusiveMaximum: true }, {}],
    [
      'a property that is required by a flag',
      { properties: { a: { required: true } } },
      { properties: { a: {} } },
    ],
    [
      'types that there are not',
      { type: 'any', anyOf: [{ type: ['string', 'file'] }] },
      { anyOf: [{ type: ['string'] }] },
    ],
    [
      'nulls',
      { type: 'string', description: null, enum: null, default: null, items: null },
      { type: 'string', default: null },
    ],
    ['empty alternatives', { oneOf: [], required: ['a'] }, { required: ['a'] }],
    ['counts that are none', { minLength: -1, maxItems: '3', minItems: 1.5 }, {}],
    [
      'maps that are none',
      { properties: [], $defs: null, patternProperties: { a: { minimum: 'x' } } },
      { patternProperties: { a: {} } },
    ],
  ])('has no %s', (_, schema, expected) => {
    expect(inNewestDraft(schema)).toEqual(expected);
    expect(inNewestDraft(expected)).toEqual(expected);
  });

  test('keeps all else, in its order', () => {
    const schema = {
      type: ['object', 'null'],
      properties: { type: { enum: [1, null] }, items: { $ref: '#/$defs/a' }, required: { type: 'boolean' } },
      additionalProperties: false,
      required: ['type'],
      $defs: { a: { type: 'array', items: { type: 'integer', exclusiveMinimum: 0 }, uniqueItems: true } },
      nullable: true,
      'x-order': ['type'],
    };
    expect(JSON.stringify(inNewestDraft(schema))).toBe(JSON.stringify(schema));
  });
});

test('a server that refuses the draft of a schema gets all schemas in the newest', () => {
  const refusal =
    'tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).';
  const search = { type: 'web_search_20250305', name: 'web_search' };
  const tool = (size: JsonObject) => ({ name: 'f', input_schema: { type: 'object', properties: { size } } });
  const body = { messages: [], tools: [search, tool({ type: 'any' })] };
  const said = rephrase(body, refusal, false);
  expect(said).toEqual({ messages: [], tools: [search, tool({})] });
  expect(rephrase(said ?? {}, refusal, false)).toBeUndefined();
  expect(rephrase({ messages: [] }, refusal, false)).toBeUndefined();
});
