import type { Json, JsonObject } from '@sluice/canonical';
import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { generateInstance } from './json-instance.ts';
import { samplePattern } from './pattern.ts';
import { Random } from './random.ts';

// Safe to cast: under nodenext, the module's type hides its default export one level deeper than at run time.
const addFormats = ajvFormats as unknown as (ajv: Ajv2020) => void;

function expectValid(schema: Json, seeds = 25): void {
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  const validate = ajv.compile(schema as JsonObject | boolean);
  for (let seed = 0; seed < seeds; seed += 1) {
    const instance = generateInstance(schema, seed);
    expect(validate(instance), `${JSON.stringify(instance)} ${ajv.errorsText(validate.errors)}`).toBe(true);
  }
}

const text = { type: 'string' };
const whole = { type: 'integer' };
const many = (items: Json): Json => ({ type: 'array', items, minItems: 9_000 });

const schemas: Readonly<Record<string, Json>> = {
  'an empty schema': {},
  true: true,
  'plain types': {
    type: 'object',
    properties: { a: text, b: whole, c: { type: 'number' }, d: { type: 'boolean' }, e: { type: 'null' } },
    required: ['a', 'b', 'c', 'd', 'e'],
    additionalProperties: false,
  },
  'several types': { type: ['integer', 'null', 'boolean'] },
  const: { const: { a: [1, null] } },
  enum: { enum: ['red', 3, null] },
  'enum narrowed by type': { type: 'string', enum: ['red', 3, 'blue'] },
  'string lengths': { type: 'string', minLength: 30, maxLength: 33 },
  'short strings': { type: 'string', maxLength: 2 },
  'integer bounds': { type: 'integer', minimum: 3, maximum: 5 },
  'exclusive bounds': { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 5 },
  'negative integers': { type: 'integer', maximum: -500 },
  'large integers': { type: 'integer', minimum: 5000 },
  'narrow numbers': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.001 },
  multiples: { type: 'integer', multipleOf: 7, minimum: 20 },
  'multiples that meet': { type: 'integer', allOf: [{ multipleOf: 4 }, { multipleOf: 6 }], minimum: 1 },
  'multiples of a cent': { type: 'number', multipleOf: 0.01, minimum: 0, maximum: 1 },
  'array lengths': { type: 'array', items: whole, minItems: 4, maxItems: 6 },
  'empty arrays': { type: 'array', maxItems: 0 },
  'unique items': { type: 'array', items: { enum: ['a', 'b', 'c'] }, uniqueItems: true, minItems: 3 },
  tuples: { type: 'array', prefixItems: [text, whole], items: false, minItems: 2 },
  contains: {
    type: 'array',
    items: { type: ['integer', 'string'] },
    contains: { type: 'string' },
    minContains: 2,
  },
  'required without properties': { type: 'object', required: ['a', 'b'] },
  'additional properties': { type: 'object', minProperties: 3, additionalProperties: whole },
  'pattern properties': {
    type: 'object',
    minProperties: 2,
    patternProperties: { '^x_[a-z]{3}$': whole },
    additionalProperties: false,
  },
  'dependent properties': {
    type: 'object',
    properties: { a: text, b: text, c: text },
    dependentRequired: { a: ['b'], b: ['c'] },
  },
  'at most one property': { type: 'object', properties: { a: text, b: text, c: text }, maxProperties: 1 },
  anyOf: { anyOf: [text, whole, { type: 'object', properties: { a: text }, required: ['a'] }] },
  'oneOf with discriminator': {
    oneOf: [
      { type: 'object', properties: { kind: { const: 'a' }, n: whole }, required: ['kind', 'n'] },
      { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
    ],
  },
  'anyOf beside properties': {
    type: 'object',
    properties: { a: text, b: text },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  allOf: {
    allOf: [
      { type: 'object', properties: { a: text }, required: ['a'] },
      { properties: { b: whole }, required: ['b'] },
      { properties: { b: { minimum: 10 } } },
    ],
  },
  'types that meet': { allOf: [{ type: 'number' }, { type: 'integer' }] },
  'if and then': {
    type: 'object',
    properties: { a: text },
    if: { properties: { a: { const: 'x' } }, required: ['a'] },
    ...Object.fromEntries([['then', { required: ['b'] }]]),
  },
  references: {
    $defs: { point: { type: 'object', properties: { x: whole }, required: ['x'] } },
    type: 'array',
    items: { $ref: '#/$defs/point' },
    minItems: 1,
  },
  'references beside keywords': { $defs: { a: text }, $ref: '#/$defs/a', minLength: 40 },
  'escaped references': { $defs: { 'a/b~c': whole }, $ref: '#/$defs/a~1b~0c' },
  anchors: { $defs: { a: { $anchor: 'here', type: 'integer' } }, $ref: '#here' },
  'a linked list': {
    type: 'object',
    properties: { value: whole, next: { anyOf: [{ type: 'null' }, { $ref: '#' }] } },
    required: ['value', 'next'],
    additionalProperties: false,
  },
  'a tree': {
    $defs: {
      node: {
        type: 'object',
        properties: { name: text, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['name', 'children'],
      },
    },
    $ref: '#/$defs/node',
  },
  'an expression': {
    $defs: {
      sum: {
        type: 'object',
        properties: { left: { $ref: '#/$defs/term' }, right: { $ref: '#/$defs/term' } },
        required: ['left', 'right'],
      },
      term: { anyOf: [{ $ref: '#/$defs/sum' }, { $ref: '#/$defs/number' }] },
      number: { type: 'integer' },
    },
    $ref: '#/$defs/sum',
  },
  'optional recursion': { type: 'object', properties: { self: { $ref: '#' } } },
  'a nullable type': { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'] },
  'a property called __proto__': JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
  ),
  patterns: {
    type: 'object',
    properties: Object.fromEntries(
      [
        '^[A-Z]{2}\\d{4}$',
        '^(foo|bar)-[^a-z]+$',
        '\\w+@\\w+\\.com',
        '^\\+?[1-9]\\d{1,14}$',
        '^(?:a|b(?<n>c))*$',
        '^[\\w.-]{3,}\\u0041?$',
        '^#[0-9a-fA-F]{6}$',
      ].map((pattern, index) => [`p${index}`, { type: 'string', pattern }]),
    ),
    required: ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6'],
  },
  'patterns with lengths': { type: 'string', pattern: '^[a-z]+$', minLength: 12, maxLength: 20 },
};

describe('an instance of a JSON schema', () => {
  it.each(Object.entries(schemas))('is valid for %s', (_name, schema) => expectValid(schema));

  it.each([
    'date-time',
    'date',
    'time',
    'duration',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'uri',
    'uri-reference',
    'uri-template',
    'uuid',
    'json-pointer',
    'relative-json-pointer',
    'regex',
    'byte',
  ])('has the format %s', (format) => expectValid({ type: 'string', format }));

  it('is the same for the same seed, and differs for another', () => {
    const schema = schemas['plain types'] ?? true;
    expect(generateInstance(schema, 5)).toEqual(generateInstance(schema, 5));
    expect(generateInstance(schema, 5)).not.toEqual(generateInstance(schema, 6));
  });

  it('keeps a proper keyword beside a malformed one', () => {
    const schema = { type: 'integer', multipleOf: 50, allOf: [{ multipleOf: {} }, { multipleOf: [] }] };
    for (let seed = 0; seed < 25; seed += 1) expect(Number(generateInstance(schema, seed)) % 50).toBe(0);
  });

  it('keeps the key order of the schema', () => {
    const schema = { type: 'object', properties: { z: text, a: text, m: text }, required: ['m', 'z', 'a'] };
    expect(Object.keys(generateInstance(schema, 1) as JsonObject)).toEqual(['z', 'a', 'm']);
  });

  it.each(
    Object.entries<Json>({
      'only contains itself': { type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] },
      'refers to nothing': { $ref: '#/$defs/missing' },
      'refers to an anchor that nothing has': {
        $anchor: 'root',
        $ref: '#undefined',
        $defs: { a: { type: 'integer' } },
      },
      'refers to itself at once': { $ref: '#' },
      'refers twice to what refers twice': {
        $ref: '#/$defs/a0',
        $defs: Object.fromEntries(
          Array.from({ length: 26 }, (_, index) => {
            const next = { $ref: `#/$defs/a${index + 1}` };
            return [`a${index}`, index === 25 ? whole : { allOf: [next, next] }];
          }),
        ),
      },
      'allows nothing': false,
      'wants too many items': {
        type: 'array',
        items: { type: 'array', items: text, minItems: 1000 },
        minItems: 1000,
      },
      'wants a giant string': { type: 'string', minLength: 1e9 },
      'has too many parts': {
        type: 'object',
        allOf: Array.from({ length: 20_000 }, (_, index) => ({ properties: { [`p${index}`]: whole } })),
      },
      'has more parts than a stack holds': { allOf: Array.from({ length: 190_000 }, () => ({})) },
      'wants many long texts of a pattern': many({ type: 'string', pattern: `^(?:${'a'.repeat(980)}){5}$` }),
      'wants many texts of a pattern, of which none is short enough': many({
        type: 'string',
        pattern: `^(?:${'a'.repeat(980)}){5000}$`,
        maxLength: 10,
      }),
      'wants many texts of classes that are long to read': many({
        type: 'string',
        pattern: `[^${'\\w'.repeat(490)}]`,
      }),
      'wants many long texts': many({ type: 'string', minLength: 20_000 }),
      'has a long constant many times': many({ const: 'a'.repeat(100_000) }),
      'has a long enumeration many times': many({
        enum: Array.from({ length: 190_000 }, (_, index) => index),
      }),
      'has many branches many times': many({
        anyOf: Array.from({ length: 100_000 }, () => ({ type: 'null' })),
      }),
      'has bounds that cross': { type: 'integer', minimum: 5, maximum: 4 },
      'has an empty enumeration': { enum: [] },
      'has types that exclude each other': { allOf: [text, whole] },
      'wants more different items than there are': {
        type: 'array',
        items: { type: 'boolean' },
        uniqueItems: true,
        minItems: 3,
      },
    }),
  )('is refused as invalid-request where the schema %s', (_name, schema) => {
    expect(() => generateInstance(schema, 1)).toThrow(expect.objectContaining({ kind: 'invalid-request' }));
  });

  it('is found or refused for any JSON whatever', () => {
    const keyword = fc.constantFrom(
      'type',
      'properties',
      'items',
      'anyOf',
      'allOf',
      '$ref',
      'enum',
      'required',
      'minItems',
      'minimum',
      'multipleOf',
      'pattern',
      'format',
      'if',
      'then',
      'maxProperties',
      'contains',
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(
          'string',
          'object',
          'array',
          'number',
          'integer',
          '#',
          '#/properties',
          true,
          false,
          null,
          0,
          -1,
          2.5,
          1e300,
        ),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(keyword, fc.constantFrom('a', 'b')), tie('value'), { maxKeys: 4 }),
      ),
    })).value as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(json, (schema) => {
        try {
          JSON.stringify(generateInstance(schema, 1));
        } catch (thrown) {
          expect(thrown).toMatchObject({ name: 'SluiceError', kind: 'invalid-request' });
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a sample of a pattern', () => {
  it('gives up on unsupported syntax instead of guessing', () => {
    for (const pattern of [
      '(a)\\1',
      '\\p{L}',
      '(',
      '[a',
      'a{100000}{100000}',
      '\\uzzzz',
      '[\\0-\\uffff]'.repeat(1_000),
    ]) {
      expect(samplePattern(pattern, new Random(1))).toBeUndefined();
    }
  });

  it('never runs the pattern, however slow it would be', () => {
    expect(samplePattern('^(a+)+$', new Random(1))).toMatch(/^a+$/);
  });
});
