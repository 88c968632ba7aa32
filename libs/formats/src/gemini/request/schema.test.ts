import { expect, test } from 'vitest';
import { decodeSchema, spellsOrder } from './schema.ts';

test('types are lower-cased at every depth, but names and data are not', () => {
  const schema = {
    type: 'OBJECT',
    properties: { type: { type: 'STRING', enum: ['STRING', 'type'] }, any_of: { type: ['STRING', 'NULL'] } },
    $defs: { Leaf: { type: 'NUMBER', default: { type: 'KEPT' } } },
    additionalProperties: { type: 'BOOLEAN' },
    oneOf: [{ type: 'OBJECT' }, true],
  };
  expect(decodeSchema(schema)).toEqual({
    type: 'object',
    properties: { type: { type: 'string', enum: ['STRING', 'type'] }, any_of: { type: ['string', 'null'] } },
    $defs: { Leaf: { type: 'number', default: { type: 'KEPT' } } },
    additionalProperties: { type: 'boolean' },
    oneOf: [{ type: 'object' }, true],
  });
});

test('counts written as text become numbers, but other text does not', () => {
  expect(decodeSchema({ type: 'ARRAY', min_items: '1', maxItems: '20', pattern: '5' })).toEqual({
    type: 'array',
    minItems: 1,
    maxItems: 20,
    pattern: '5',
  });
});

test.each([
  [{ type: 'STRING', nullable: true }, { type: ['string', 'null'] }],
  [{ type: 'STRING', nullable: false }, { type: 'string' }],
  [
    { type: 'STRING', enum: ['a'], nullable: true },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  [{ anyOf: [{ type: 'STRING' }], nullable: true }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  [{ $ref: '#/$defs/A', nullable: true }, { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] }],
  [{ type: 'TYPE_UNSPECIFIED', nullable: true }, {}],
])('%j allows null as JSON Schema does', (schema, expected) => {
  expect(decodeSchema(schema)).toEqual(expected);
});

test('properties take the order that is spelled out, followed by those that it does not name', () => {
  const schema = {
    type: 'OBJECT',
    properties: { a: {}, b: {}, c: {} },
    propertyOrdering: ['c', 'ghost', 'a', 'toString'],
  };
  expect(JSON.stringify(decodeSchema(schema))).toBe('{"type":"object","properties":{"c":{},"a":{},"b":{}}}');
  expect(spellsOrder(schema)).toBe(true);
  expect(spellsOrder({ properties: { a: { items: schema } } })).toBe(true);
  expect(spellsOrder({ type: 'OBJECT', properties: { a: {} } })).toBe(false);
});

test('a JSON Schema comes out as it went in', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { type: 'integer', exclusiveMinimum: 0 }, b: { const: 1 } },
    required: ['a'],
    additionalProperties: false,
  };
  expect(JSON.stringify(decodeSchema(schema))).toBe(JSON.stringify(schema));
});
