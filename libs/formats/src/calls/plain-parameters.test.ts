import { describe, expect, test } from 'vitest';
import { plainParameters } from './plain-parameters.ts';

const text = { type: 'string' };
const circle = {
  type: 'object',
  properties: { kind: { const: 'circle' }, r: text },
  required: ['kind', 'r'],
};
const point = { type: 'object', properties: { kind: { const: 'point' } }, required: ['kind'] };

describe('the schema of arguments', () => {
  test('stays unchanged if its top level has no alternatives', () => {
    const schema = { type: 'object', properties: { a: { anyOf: [text, { type: 'null' }] } } };
    expect(plainParameters(schema)).toBe(schema);
  });

  test.each(['anyOf', 'oneOf'])('becomes one object with everything that %s allows', (union) => {
    expect(plainParameters({ [union]: [circle, point] })).toEqual({
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'circle' }, { const: 'point' }] }, r: text },
      required: ['kind'],
      description: `{${union}: ${JSON.stringify([circle, point])}}`,
    });
  });

  test('keeps what is beside its alternatives, which may only demand more', () => {
    const schema = {
      $schema: 's',
      type: 'object',
      description: 'One of two.',
      properties: { id: text, name: text },
      anyOf: [{ required: ['id'] }, { required: ['name'] }],
    };
    const { anyOf, ...plain } = schema;
    const description = `One of two.\n\n{anyOf: ${JSON.stringify(anyOf)}}`;
    expect(plainParameters(schema)).toEqual({ ...plain, description });
  });

  test('has all of allOf, and follows references to its own definitions', () => {
    const $defs = { Circle: circle };
    const schema = { $defs, allOf: [{ $ref: '#/$defs/Circle' }, { properties: { color: text } }] };
    expect(plainParameters(schema)).toMatchObject({
      ...{ type: 'object', $defs, required: ['kind', 'r'] },
      properties: { kind: { const: 'circle' }, r: text, color: text },
    });
    expect(plainParameters({ anyOf: [{ $ref: '#/$defs/None' }, true] })).toMatchObject({ properties: {} });
    expect(plainParameters({ anyOf: 7 })).toMatchObject({ type: 'object', properties: {} });
  });

  test('is made as fast if one large definition is referred to again and again', () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`p${at}`, text]));
    const variants = Array.from({ length: 90_000 }, () => ({ $ref: '#/$defs/Large' }));
    // A quarter of them, with a fifth of the properties, took 17 s.
    const schema = { $defs: { Large: { properties } }, anyOf: variants };
    expect(plainParameters(schema)).toMatchObject({ properties });
  });
});
