import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeSchema } from './json-schema.ts';

test('a schema is described as callers write it, or as it is read', () => {
  const schema = z.object({ size: z.string().transform(Number).pipe(z.int().max(9)) });
  expect(describeSchema(schema)).toMatchObject({ properties: { size: { type: 'string' } } });
  expect(describeSchema(schema, 'output')).toMatchObject({ properties: { size: { type: 'integer' } } });
});

test('what JSON Schema cannot express may be anything', () => {
  expect(describeSchema(z.object({ at: z.date() }))).toMatchObject({ properties: { at: {} } });
});

test('bounds are shown unless they only say up to where JavaScript counts, at any depth', () => {
  const schema = z.object({
    free: z.int(),
    bound: z.int().min(-2).max(9),
    list: z.union([z.array(z.object({ free: z.int() })), z.null()]),
  });
  const { $schema, ...described } = describeSchema(schema);
  expect($schema).toBeUndefined();
  expect(described).toEqual({
    type: 'object',
    required: ['free', 'bound', 'list'],
    properties: {
      free: { type: 'integer' },
      bound: { type: 'integer', minimum: -2, maximum: 9 },
      list: {
        anyOf: [
          {
            type: 'array',
            items: {
              type: 'object',
              required: ['free'],
              properties: { free: { type: 'integer' } },
            },
          },
          { type: 'null' },
        ],
      },
    },
  });
});

test('a bound of the whole schema is left out, too', () => {
  expect(describeSchema(z.int())).toEqual({ type: 'integer' });
});
