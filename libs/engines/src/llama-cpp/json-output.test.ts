import { collect, type Json, type JsonObject } from '@sluice/canonical';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { runOf, textOf } from '../test-runs.ts';
import { ask, TestModels } from './test-models.ts';

const models = new TestModels();
/** Of free text a model without sense makes bytes that are no characters. */
const short = { enum: ['a', 'ü', 'a "quoted"\nword'] };
const tree = {
  type: 'object',
  properties: { name: short, children: { type: 'array', maxItems: 1, items: { $ref: '#/$defs/tree' } } },
  required: ['name'],
};

/** What callers send: by hand, by pydantic, by zod, by mistake. */
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
  it.each(schemas)('is as its schema wants it: %s', async (_name, schema) => {
    const engine = await models.start(['{'], { sampling: { temperature: 5, topP: 1, topK: 0, minP: 0 } });
    const validate = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
    for (const seed of [1, 2, 3]) {
      const request = ask({
        output: { type: 'json', schema: schema as JsonObject },
        sampling: { seed, maxOutputTokens: 400 },
      });
      const events = await runOf(engine, request);
      const { finish } = collect(events);
      // A model without sense may go on with a number or a space for ever.
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
});

function nested(levels: number): JsonObject {
  return levels === 0 ? { type: 'string' } : { type: 'object', properties: { in: nested(levels - 1) } };
}
