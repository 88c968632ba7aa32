import type { JsonObject } from '@sluice/canonical';
import { expect, it } from 'vitest';
import { answerSchema, hasOpenObject, isRecursive } from './answer-schema.ts';

/** Each definition refers to the next, and the last one is `end`. */
function chain(length: number, end: JsonObject): JsonObject {
  const definitions = Array.from({ length }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]);
  return {
    ...{ type: 'object', properties: { first: { $ref: '#/$defs/d0' } } },
    $defs: { ...Object.fromEntries(definitions), [`d${length}`]: end },
  };
}

it('a chain of references as long as a body allows ends, or refers back, without overflowing the stack', () => {
  expect(isRecursive(chain(20_000, { type: 'string' }))).toBe(false);
  expect(isRecursive(chain(20_000, { items: { $ref: '#/$defs/d7' } }))).toBe(true);
});

it('a definition that is referred to at each of its levels is visited once', () => {
  const references = (places: string[]) => places.map((place) => ({ $ref: place }));
  const levels = Array.from({ length: 600 }, (_, level) => `#/$defs/a${'/items'.repeat(level)}`);
  let a: JsonObject = { anyOf: references(Array.from({ length: 50_000 }, (_, at) => `#/$defs/x${at}`)) };
  for (const _ of levels) a = { items: a };
  // With 150 levels it took 16 s.
  expect(isRecursive({ anyOf: references(levels), $defs: { a } })).toBe(false);
});

it.each<[boolean, string, JsonObject]>([
  [true, 'to the whole', { properties: { child: { $ref: '#' } } }],
  [true, 'to itself', { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } }],
  [false, 'twice to the same', { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], $defs: { a: {} } }],
  [false, 'to what nobody uses', { $defs: { a: { $ref: '#/$defs/a' } } }],
  [false, 'to nothing', { $ref: '#/$defs/nowhere' }],
  [false, 'to what nobody uses, in an older draft', { definitions: { a: { $ref: '#/definitions/a' } } }],
  [false, 'to another document', { $ref: 'a/$defs/a', $defs: { a: { $ref: 'a/$defs/a' } } }],
  [false, 'into a text', { $ref: '#/title/0', title: 'A' }],
])('says %s of a schema that refers %s', (expected, _, schema) => {
  expect(isRecursive(schema)).toBe(expected);
});

it.each(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'])(
  'the format %s is kept',
  (format) => {
    const schema = { type: 'string', format };
    expect(answerSchema(schema)).toEqual(schema);
  },
);

it('keys keep their order, the description included, and what is added follows them', () => {
  const items = {
    description: 'Some.',
    type: 'array',
    minItems: 2,
    items: { description: '', type: 'number' },
  };
  const schema = { description: 'A list.', type: 'object', properties: { items }, required: ['items'] };
  const said = { description: 'Some.\n\n{minItems: 2}', type: 'array', items: { type: 'number' } };
  expect(JSON.stringify(answerSchema(schema))).toBe(
    JSON.stringify({ ...schema, properties: { items: said }, additionalProperties: false }),
  );
  expect(JSON.stringify(answerSchema({ minimum: 1, type: 'number' }))).toBe(
    JSON.stringify({ type: 'number', description: '{minimum: 1}' }),
  );
});

it.each<[string, JsonObject, JsonObject]>([
  [
    'an unknown format is described',
    { type: 'string', format: 'binary' },
    { type: 'string', description: '{format: "binary"}' },
  ],
  [
    'what is unknown follows the description',
    { type: 'integer', description: 'An age.', minimum: 0, maximum: 150 },
    { type: 'integer', description: 'An age.\n\n{minimum: 0, maximum: 150}' },
  ],
  [
    'a description that is no text is described',
    { type: 'string', description: 7 },
    { type: 'string', description: '{description: 7}' },
  ],
  [
    'a list of at least one is kept, one of at least two is described',
    {
      anyOf: [
        { items: {}, minItems: 1 },
        { items: {}, minItems: 0 },
        { items: {}, minItems: 2 },
      ],
    },
    {
      anyOf: [
        { items: {}, minItems: 1 },
        { items: {}, minItems: 0 },
        { items: {}, description: '{minItems: 2}' },
      ],
    },
  ],
  [
    'alternatives of any kind are walked through, and the dialect is left out',
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      oneOf: [{ properties: {} }],
      allOf: [{ type: ['object', 'null'] }],
    },
    {
      anyOf: [{ properties: {}, additionalProperties: false }],
      allOf: [{ type: ['object', 'null'], additionalProperties: false }],
    },
  ],
  [
    'definitions and fields are walked through, and what is no schema stays',
    {
      $defs: { a: { type: 'object' } },
      definitions: { b: { type: 'object' } },
      properties: { c: { type: 'object' }, d: true },
    },
    {
      $defs: { a: { type: 'object', additionalProperties: false } },
      definitions: { b: { type: 'object', additionalProperties: false } },
      properties: { c: { type: 'object', additionalProperties: false }, d: true },
      additionalProperties: false,
    },
  ],
  [
    'maps and lists that are none are not walked through',
    { $defs: 7, anyOf: 'a', items: true },
    { anyOf: 'a', items: true, description: '{$defs: 7}' },
  ],
])('%s', (_, schema, expected) => {
  expect(answerSchema(schema)).toEqual(expected);
});

it.each<[boolean, string, JsonObject]>([
  [true, 'an object without named fields', { type: 'object' }],
  [
    true,
    'an object whose fields are named by none',
    { type: 'object', properties: {}, additionalProperties: true },
  ],
  [true, 'a map', { additionalProperties: { type: 'string' } }],
  [true, 'a map by patterns', { type: 'object', properties: { a: {} }, patternProperties: { '^x': {} } }],
  [true, 'a map in a field', { properties: { a: { type: 'object' } } }],
  [true, 'a map in a definition', { $defs: { a: { type: 'object' } } }],
  [true, 'a map in an alternative', { oneOf: [{ type: 'string' }, { type: ['object', 'null'] }] }],
  [true, 'a map in a list', { items: { type: 'object' } }],
  [false, 'an object that is closed', { type: 'object', additionalProperties: false }],
  [false, 'an object of no field', { type: 'object', properties: {} }],
  [false, 'further fields beside a named one', { properties: { a: {} }, additionalProperties: true }],
  [
    false,
    'an empty schema of further fields beside a named one',
    { properties: { a: {} }, additionalProperties: {} },
  ],
  [
    false,
    'an example that looks like one',
    { type: 'string', examples: [{ type: 'object' }], enum: ['object'] },
  ],
  [false, 'alternatives and maps that are none', { $defs: 7, anyOf: { type: 'object' }, items: [] }],
])('says %s of %s', (expected, _, schema) => {
  expect(hasOpenObject(schema)).toBe(expected);
});
