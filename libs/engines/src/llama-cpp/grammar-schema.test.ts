import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, it } from 'vitest';
import { Effort, planGrammar } from './grammar-schema.ts';

const grammarOf = (schema: Json, maySkip = false) => planGrammar(schema, maySkip).schema;
const readBy = (schema: Json, generated: Json) => planGrammar(schema, true).read(generated);

describe('a grammar of a schema', () => {
  it('follows types, properties, elements and lengths', () => {
    const schema = {
      type: 'object',
      description: 'a person',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 40, pattern: '^[A-Z]' },
        born: { type: 'string', format: 'date' },
        mail: { type: 'string', format: 'email' },
        age: { type: 'integer', minimum: 0 },
        pets: { type: 'array', items: { type: 'string' }, maxItems: 3 },
      },
      required: ['name'],
    };
    expect(grammarOf(schema)).toEqual({
      type: 'object',
      description: 'a person',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 40 },
        born: { type: 'string', format: 'date' },
        mail: { type: 'string' },
        age: { type: 'integer' },
        pets: { type: 'array', items: { type: 'string' }, maxItems: 3 },
      },
    });
  });

  it.each<[string, Json, Json]>([
    ['several types', { type: ['string', 'null'] }, { oneOf: [{ type: 'string' }, { type: 'null' }] }],
    ['OpenAPI’s null', { type: 'string', nullable: true }, { oneOf: [{ type: 'string' }, { type: 'null' }] }],
    ['one of one', { anyOf: [{ type: 'boolean' }] }, { type: 'boolean' }],
    [
      'alternatives in alternatives',
      { anyOf: [{ type: 'boolean' }, { oneOf: [{ const: 1 }, { enum: ['a'] }] }] },
      { oneOf: [{ type: 'boolean' }, { const: 1 }, { enum: ['a'] }] },
    ],
    [
      'what all alternatives share',
      { type: 'string', oneOf: [{ maxLength: 2 }, { format: 'date' }] },
      {
        oneOf: [
          { type: 'string', maxLength: 2 },
          { type: 'string', format: 'date' },
        ],
      },
    ],
    [
      'parts that all count',
      { allOf: [{ type: 'object', properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } } }] },
      { type: 'object', properties: { a: { const: 1 }, b: { const: 2 } } },
    ],
    [
      'a type that is only implied',
      { properties: { a: { const: 1 } } },
      { type: 'object', properties: { a: { const: 1 } } },
    ],
    [
      'an object of anything',
      { type: 'object' },
      { type: 'object', properties: {}, additionalProperties: true },
    ],
    [
      'a map',
      { type: 'object', additionalProperties: { type: 'integer' } },
      { type: 'object', properties: {}, additionalProperties: { type: 'integer' } },
    ],
    [
      'a pair',
      { type: 'array', prefixItems: [{ const: 1 }, true], maxItems: 2 },
      {
        type: 'array',
        prefixItems: [{ const: 1 }, expect.anything()],
        maxItems: 2,
      },
    ],
    [
      'bounds that a grammar cannot count',
      { type: 'string', minLength: 3, maxLength: 100_000 },
      { type: 'string', minLength: 3 },
    ],
    [
      'a least number that it cannot count, as far as it can',
      { type: 'array', items: { const: 1 }, minItems: 300, maxItems: 400 },
      { type: 'array', items: { const: 1 }, minItems: 256 },
    ],
    [
      'a constant that is no scalar',
      { const: { a: 1, b: [null, 'x'], c: [] } },
      {
        type: 'object',
        properties: {
          a: { const: 1 },
          b: { type: 'array', prefixItems: [{ const: null }, { const: 'x' }], minItems: 2, maxItems: 2 },
          c: { type: 'array', maxItems: 0 },
        },
      },
    ],
    [
      'what is required and not described',
      {
        type: 'object',
        properties: { a: { const: 1 } },
        required: ['a', 'b'],
        additionalProperties: { const: 2 },
      },
      { type: 'object', properties: { a: { const: 1 }, b: { const: 2 } } },
    ],
    [
      'references as they stand in URLs',
      { $ref: '#/$defs/List%5Bstr%5D', $defs: { 'List[str]': { const: 1 } } },
      { $ref: '#/$defs/List%5Bstr%5D', $defs: { 'List%5Bstr%5D': { const: 1 } } },
    ],
    [
      'references that are no part of URLs',
      { $ref: '#/$defs/100%', $defs: { '100%': { const: 1 } } },
      { $ref: '#/$defs/100%', $defs: { '100%': { const: 1 } } },
    ],
    [
      'bounds that exclude each other',
      { type: 'array', minItems: 3, maxItems: 1 },
      { type: 'array', minItems: 3 },
    ],
  ])('follows %s', (_what, schema, expected) => expect(grammarOf(schema)).toEqual(expected));

  it.each<[string, Json]>([
    ['nothing said', {}],
    ['true', true],
    ['a type that is none', { type: 'date' }],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }],
    ['a reference to nowhere', { allOf: [{ $ref: '#/nowhere' }] }],
  ])('takes anything for %s', (_what, schema) => {
    expect(grammarOf(schema)).toEqual({
      oneOf: [
        { type: ['string', 'number', 'boolean', 'null'] },
        { type: 'array' },
        { type: 'object', additionalProperties: true },
      ],
    });
  });

  it('converts each definition once, even if it refers to itself', () => {
    const schema = {
      $ref: '#/definitions/node',
      definitions: {
        node: {
          type: 'object',
          properties: {
            left: { $ref: '#/definitions/node', description: 'the smaller' },
            size: { type: 'integer' },
          },
        },
      },
    };
    expect(grammarOf(schema)).toEqual({
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: {
            left: { $ref: '#/$defs/node', description: 'the smaller' },
            size: { type: 'integer' },
          },
        },
      },
    });
  });

  it('joins a definition with the keywords beside the reference', () => {
    const schema = {
      allOf: [{ $ref: '#/$defs/base' }, { $ref: '#/$defs/more' }],
      properties: { own: { const: 3 } },
      $defs: {
        base: { type: 'object', properties: { a: { const: 1 } } },
        more: { properties: { b: { const: 2 } } },
      },
    };
    expect(grammarOf(schema)).toMatchObject({ properties: { a: {}, b: {}, own: {} } });
  });

  it.each([
    ['itself', { a: { $ref: '#/$defs/a' } }],
    ['itself or a string', { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'string' }] } }],
    [
      'another that is it',
      { a: { $ref: '#/$defs/b' }, b: { oneOf: [{ type: 'null' }, { $ref: '#/$defs/a' }] } },
    ],
  ])('takes anything for a definition that is %s', (_what, $defs) => {
    const grammar = grammarOf({ $ref: '#/$defs/a', $defs } as JsonObject);
    expect(grammar).toMatchObject({ $defs: { a: { oneOf: expect.arrayContaining([{ type: 'array' }]) } } });
  });

  const many = Array.from({ length: 100_000 }, (_value, index) => `value ${index}`);
  it.each<[string, Json]>([
    ['values', { enum: many }],
    ['properties', { type: 'object', properties: Object.fromEntries(many.map((name) => [name, {}])) }],
    ['alternatives', { anyOf: many.map((value) => ({ const: value })) }],
    ['elements', { type: 'array', prefixItems: many.map((value) => ({ const: value })) }],
    ['types', { type: many }],
  ])('does not follow more %s than it can', (_what, schema) => {
    const grammar = grammarOf({ type: 'object', properties: { a: schema, b: { type: 'string' } } });
    expect(JSON.stringify(grammar).length).toBeLessThan(1000);
    expect(grammar).toMatchObject({ properties: { b: { type: 'string' } } });
  });

  it('follows a reference once, however long it is and however often it occurs', () => {
    const properties = Object.fromEntries(
      many.slice(0, 1_500).map((name) => [name, { $ref: '#/$defs/a', type: 'string' }]),
    );
    const $defs = { a: { $ref: `#${'/'.repeat(1_000_000)}`, maxLength: 5 } };
    const grammar = grammarOf({ type: 'object', properties, $defs });
    expect(grammar).toMatchObject({ properties: { 'value 0': { type: 'string', maxLength: 5 } } });
  });

  const parts = <Part>(part: (name: string) => Part) => many.slice(0, 20_000).map(part);
  const long = { $ref: '#/properties/b/$defs/long' };
  it.each<[string, Json]>([
    ['properties', { type: 'object', allOf: parts((name) => ({ properties: { [name]: {} } })) }],
    ['demands', { type: 'object', allOf: parts((name) => ({ required: [name] })) }],
    ['types', { allOf: [{ type: many }, { type: many.map((name) => `no ${name}`) }] }],
    ['lists that are referred to', { allOf: parts(() => long) }],
    ['lists of alternatives', { enum: many, anyOf: parts((name) => ({ enum: [name] })).slice(0, 1_900) }],
  ])('does not join more %s than it can', (_what, schema) => {
    const b = { type: 'string', $defs: { long: { enum: many } } };
    const grammar = grammarOf({ type: 'object', properties: { a: schema, b } });
    expect(grammar).toMatchObject({ properties: { b: { type: 'string' } } });
  });

  it('does not follow more of many schemas together than it can', () => {
    // Each definition refers to the next one as often as allowed, so their number doubles.
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_value, index) => {
        const next = { $ref: `#/$defs/d${index + 1}`, type: 'object' };
        return [`d${index}`, { anyOf: [next, next] }];
      }),
    );
    const effort = new Effort();
    const plans = many.map(() => planGrammar({ allOf: [{ $ref: '#/$defs/d0' }], $defs }, true, effort));
    expect(plans.at(-1)?.schema).toEqual(grammarOf(true));
  });

  it.each<[string, Json]>([
    ['a value', { enum: ['a', 'b\0'] }],
    ['a constant', { properties: { a: { const: 'b\0' } } }],
    ['a property', { properties: { 'a\0': {} } }],
  ])('holds no NUL of %s', (_what, schema) => {
    expect(() => grammarOf(schema)).toThrow(expect.objectContaining({ kind: 'invalid-request' }));
  });

  it('ends if a schema without definitions contains itself', () => {
    const schema = { type: 'object', properties: { self: { $ref: '#' }, also: { $ref: '#' } } };
    expect(JSON.stringify(grammarOf(schema)).length).toBeLessThan(500_000);
  });
});

describe('what was generated', () => {
  it('is matched to an alternative, however many ways lead to the last one', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 14 }, (_value, index): [string, Json] => [
        `d${index}`,
        index === 13
          ? { type: 'string' }
          : { anyOf: Array.from({ length: 8 }, () => ({ $ref: `#/$defs/d${index + 1}` })) },
      ]),
    );
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs };
    expect(readBy(schema, { a: null })).toEqual({});
    expect(readBy(schema, { a: 'b' })).toEqual({ a: 'b' });
  });

  it('is matched to an alternative, however many ways lead into objects within each other', () => {
    const levels = 10;
    const level = (index: number): Json => ({
      type: 'object',
      properties: { a: { $ref: `#/$defs/d${index}` } },
    });
    const $defs = Object.fromEntries(
      Array.from({ length: levels }, (_value, index): [string, Json] => [
        `d${index}`,
        index === levels - 1
          ? { type: 'string' }
          : { anyOf: Array.from({ length: 8 }, () => level(index + 1)) },
      ]),
    );
    const nested = (value: Json) =>
      Array.from({ length: levels }).reduce<JsonObject>((inner) => ({ a: inner }), { a: value });
    const other = { type: 'object', properties: { a: {}, b: { type: 'string' } } };
    const deep = { type: 'object', properties: { a: { $ref: '#/$defs/d0' }, b: { type: 'null' } } };
    const schema = { anyOf: [deep, other], $defs };
    expect(readBy(schema, { a: nested(7), b: null })).toEqual({ a: nested(7) });
  });

  it('is read without the nulls of absent properties', () => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string' },
        limit: { type: 'integer' },
        note: { type: ['string', 'null'] },
        lines: {
          type: 'array',
          items: { properties: { from: { type: 'integer' }, to: { type: 'integer' } } },
        },
      },
      required: ['path'],
    };
    const generated = { path: 'a', limit: null, note: null, lines: [{ from: 1, to: null }] };
    expect(readBy(schema, generated)).toEqual({ path: 'a', note: null, lines: [{ from: 1 }] });
  });

  it('is read by the alternative that it matches', () => {
    const one = {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'null' } },
      required: ['a'],
    };
    const other = {
      type: 'object',
      properties: { c: { type: 'integer' }, b: { type: 'integer' } },
      required: ['c'],
    };
    const schema = { type: 'object', properties: { either: { anyOf: [one, other] } }, required: ['either'] };
    expect(readBy(schema, { either: { a: 1, b: null } })).toEqual({ either: { a: 1, b: null } });
    expect(readBy(schema, { either: { c: 1, b: null } })).toEqual({ either: { c: 1 } });
  });

  const file = {
    type: 'object',
    properties: { kind: { const: 'file' }, path: { type: 'string' } },
    required: ['kind', 'path'],
  };
  const text = { ...file, properties: { ...file.properties, kind: { const: 'text' } }, required: ['kind'] };
  const long = { ...file, properties: { ...file.properties, note: { type: 'string' } } };

  it.each<[string, JsonObject[], Json, Json]>([
    ['a constant', [file, text], { kind: 'text', path: null }, { kind: 'text' }],
    [
      'a further property',
      [file, long],
      { kind: 'file', path: 'a', note: null },
      { kind: 'file', path: 'a' },
    ],
    [
      'an element',
      [file, text].map((items) => ({ type: 'array', items })),
      [{ kind: 'text', path: null }],
      [{ kind: 'text' }],
    ],
    [
      'an element of a tuple',
      [file, text].map((item) => ({ type: 'array', prefixItems: [item] })),
      [{ kind: 'text', path: null }],
      [{ kind: 'text' }],
    ],
    [
      'a property of a property',
      [file, text].map((part) => ({ type: 'object', properties: { part }, required: ['part'] })),
      { part: { kind: 'text', path: null } },
      { part: { kind: 'text' } },
    ],
    [
      'a value of a map',
      [file, text].map((part) => ({ type: 'object', additionalProperties: part })),
      { some: { kind: 'text', path: null } },
      { some: { kind: 'text' } },
    ],
  ])('is read by the alternative that %s tells from the others', (_what, anyOf, it, expected) => {
    const schema = { type: 'object', properties: { it: { anyOf } }, required: ['it'] };
    expect(readBy(schema, { it })).toEqual({ it: expected });
  });

  it('is read in tuples and maps', () => {
    const part = { type: 'object', properties: { a: { type: 'integer' } } };
    const schema = {
      type: 'object',
      properties: {
        pair: { type: 'array', prefixItems: [{ type: 'integer' }, part] },
        map: { type: 'object', additionalProperties: part },
      },
      required: ['pair', 'map'],
    };
    const generated = { pair: [1, { a: null }], map: { one: { a: null }, two: { a: 2 } } };
    expect(readBy(schema, generated)).toEqual({ pair: [1, {}], map: { one: {}, two: { a: 2 } } });
  });

  it('is read through references', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: { id: { type: 'integer' }, next: { $ref: '#/$defs/node' } },
          required: ['id'],
        },
      },
    };
    expect(readBy(schema, { id: 1, next: { id: 2, next: null } })).toEqual({ id: 1, next: { id: 2 } });
  });

  it('may leave properties out in grammars for tools only', () => {
    const schema = { type: 'object', properties: { a: { const: 1 } } };
    expect(grammarOf(schema, false)).toEqual({ type: 'object', properties: { a: { const: 1 } } });
    expect(grammarOf(schema, true)).toEqual({
      type: 'object',
      properties: { a: { oneOf: [{ const: 1 }, { type: 'null' }] } },
    });
  });
});
