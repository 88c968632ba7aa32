import { collect, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runOf, textOf } from '../test-runs.ts';
import { ask, TestModels } from './test-models.ts';

const models = new TestModels();
/** Short values: in free text, this meaningless model writes bytes that are no characters. */
const short = { enum: ['a', 'ü', 'a "quoted"\nword'] };
const tree = {
  type: 'object',
  properties: { name: short, children: { type: 'array', maxItems: 1, items: { $ref: '#/$defs/tree' } } },
  required: ['name'],
};

/** What callers send: written by hand, by pydantic, by zod, by mistake. */
const schemas: [string, Json][] = [
  ['flat', { type: 'object', properties: { a: short, b: { type: 'boolean' }, c: { enum: ['x', 2, null] } } }],
  ['a tree', { $ref: '#/$defs/tree', $defs: { tree } }],
  [
    'a list of alternatives',
    { type: 'array', minItems: 2, maxItems: 2, items: { anyOf: [{ const: 1 }, short] } },
  ],
  ['null or an object', { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: short } }] }],
  [
    'a definition beside others',
    { allOf: [{ $ref: '#/$defs/tree' }], properties: { extra: short }, $defs: { tree } },
  ],
  ['nothing allowed', { type: 'object', properties: { a: short, never: false } }],
  [
    'odd names',
    { type: 'object', properties: { 'a "b"\n\\': short, ü: short, '': short }, required: ['ü', ''] },
  ],
  ['a large bound', { type: 'array', maxItems: 1_000_000, items: { const: 'x' } }],
  ['a date', { type: 'string', format: 'date-time' }],
  ['a map', { type: 'object', additionalProperties: { type: 'boolean' } }],
];

describe('JSON from an embedded model', () => {
  it.each(schemas)('follows its schema: %s', async (_name, schema) => {
    const engine = await models.start(['{'], { sampling: { temperature: 5, topP: 1, topK: 0, minP: 0 } });
    const validate = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
    for (const seed of [1, 2, 3]) {
      const request = ask({
        output: { type: 'json', schema: schema as JsonObject },
        sampling: { seed, maxOutputTokens: 400 },
      });
      const events = await runOf(engine, request);
      const { finish } = collect(events);
      // A meaningless model may continue a number or a space for ever.
      if (finish.reason === 'length') continue;
      const value: Json = JSON.parse(textOf(events));
      expect(validate.validate(schema as JsonObject, value), JSON.stringify(value)).toBe(true);
    }
  });

  it.each<[string, JsonObject]>([
    ['of other things', { type: 'object', properties: 'none', required: 'all', items: 3 }],
    ['without a possible value', { type: 'object', properties: { a: { enum: [] } }, required: ['a'] }],
    ['of many levels', nested(200)],
  ])('is JSON where the schema is one %s', async (_name, schema) => {
    const engine = await models.start(['{']);
    const events = await runOf(engine, ask({ output: { type: 'json', schema } }));
    expect(textOf(events)).toMatch(/^\{/);
  });

  it('is refused if the schema is longer than any prompt', async () => {
    const engine = await models.start(['{']);
    const schema = { type: 'object', description: 'x'.repeat(100_000) };
    expect(await runOf(engine, ask({ output: { type: 'json', schema } }))).toMatchObject([
      { type: 'error', error: { detail: 'context-length-exceeded' } },
    ]);
  });

  it('is begun for any schema whatever', async () => {
    const engine = await models.start(['{']);
    await fc.assert(
      fc.asyncProperty(anySchema, async (schema) => {
        const request = ask({ output: { type: 'json', schema }, sampling: { maxOutputTokens: 1 } });
        expect(collect(await runOf(engine, request)).finish.usage.outputTokens).toBe(1);
      }),
      { numRuns: 200 },
    );
  });
});

const names = ['a', 'b', 'ü "x"\n', '', 'p/q', '__proto__'];
const references = names.map((name) => ({ $ref: `#/$defs/${name}` }));
const { schema: anyPart } = fc.letrec<{ schema: Json }>((tie) => {
  const parts = fc.array(tie('schema'), { maxLength: 3 });
  const properties = fc.dictionary(fc.constantFrom(...names), tie('schema'), { maxKeys: 4 });
  const count = fc.integer({ min: -1, max: 300 });
  return {
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<Json>(true, false, {}, { type: 'banana' }, { type: ['string', 'null'] }, { enum: [] }),
      fc.constantFrom<Json>({ const: 'x"\n\\' }, { const: 1e300 }, { enum: ['a', null, {}] }, ...references),
      fc.constantFrom<Json>({ $ref: '#' }, { $ref: '#/properties/a' }, { $ref: 'elsewhere' }),
      fc.record({ type: fc.constant('string'), minLength: count, maxLength: count }, { requiredKeys: [] }),
      fc.record(
        { type: fc.constant('object'), properties, additionalProperties: tie('schema') },
        { requiredKeys: ['type'] },
      ),
      fc.record(
        {
          type: fc.constant('array'),
          items: tie('schema'),
          prefixItems: parts,
          minItems: count,
          maxItems: count,
        },
        { requiredKeys: ['type'] },
      ),
      fc.record({ anyOf: parts, oneOf: parts, allOf: parts, nullable: fc.boolean() }, { requiredKeys: [] }),
      fc.record({ $ref: fc.constantFrom(...references).map(({ $ref }) => $ref), properties }),
    ),
  };
});
const anySchema = fc
  .tuple(anyPart, fc.dictionary(fc.constantFrom(...names), anyPart, { maxKeys: 4 }))
  .map(([part, $defs]): JsonObject => ({ ...(isJsonObject(part) ? part : {}), $defs }));

function nested(levels: number): JsonObject {
  return levels === 0 ? { type: 'string' } : { type: 'object', properties: { in: nested(levels - 1) } };
}
