import type { Json, JsonObject } from '@sluice/canonical';
import { describe, expect, test } from 'vitest';
import { rephrase } from '../rephrase.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const asking = (parameters: JsonObject) => ({
  messages,
  tools: [{ type: 'function', function: { name: 'f', parameters } }],
});
const said = (parameters: JsonObject, refusal: string) => rephrase(asking(parameters), refusal, true);

describe('llama.cpp, which makes a grammar of each schema', () => {
  test.each([
    "JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
    "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
  ])('is told of a pattern that matches a part in words: %s', (refusal) => {
    const whole = { type: 'string', pattern: '^a$' };
    const before = {
      type: 'object',
      properties: {
        pattern: { type: 'string', pattern: '\\S', description: 'A name.' },
        list: { type: 'array', items: { type: 'string', pattern: '^a' } },
        either: { anyOf: [whole, { type: 'string', pattern: 'a$' }] },
      },
    };
    const after = asking({
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'A name.\n\n{pattern: "\\\\S"}' },
        list: { type: 'array', items: { type: 'string', description: '{pattern: "^a"}' } },
        either: { anyOf: [whole, { type: 'string', description: '{pattern: "a$"}' }] },
      },
    });
    expect(said(before, refusal)).toEqual(after);
    expect(rephrase(after, refusal, true)).toBeUndefined();
    expect(rephrase(asking(before), refusal, false)).toBeUndefined();
  });

  test('is told of the schema of an answer, too', () => {
    const refusal = "JSON schema conversion failed:\nPattern must start with '^' and end with '$'";
    const format = (schema: JsonObject) => ({
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'r', schema } },
    });
    expect(rephrase(format({ type: 'string', pattern: 'a' }), refusal, true)).toEqual(
      format({ type: 'string', description: '{pattern: "a"}' }),
    );
    const other = { messages: [], tools: 'odd', response_format: { type: 'json_object' } };
    expect(rephrase(other, refusal, true)).toBeUndefined();
  });

  test('gets the types of a schema that takes any value', () => {
    const refusal = 'JSON schema conversion failed:\nUnrecognized schema: {"description":"Any."}';
    const types = ['string', 'number', 'boolean', 'object', 'array', 'null'];
    const known = { enum: ['a'] };
    const list = (items: Json) => ({ type: 'array', items });
    const before = { a: { description: 'Any.' }, b: known, c: true, d: list(true), e: list({}) };
    const free = { type: types };
    const after = { a: { description: 'Any.', ...free }, b: known, c: free, d: list(free), e: list(free) };
    expect(said({ type: 'object', properties: before }, refusal)).toEqual(
      asking({ type: 'object', properties: after }),
    );
    expect(said({ type: 'object', properties: after }, refusal)).toBeUndefined();
    expect(said({ type: 'object', additionalProperties: true }, refusal)).toBeUndefined();
  });
});

test('Fireworks gets a type for every schema', () => {
  const refusal =
    "JSON Schema not supported: could not understand the instance `{'items': {'type': 'string'}}`.";
  const text = { type: 'string' };
  const before = {
    properties: {
      list: { items: text },
      tuple: { prefixItems: [text] },
      either: { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      any: { description: 'Any.' },
      one: { enum: ['a'] },
    },
  };
  const either = { anyOf: ['a', 'b'].map((name) => ({ type: 'object', required: [name] })) };
  const after = {
    type: 'object',
    properties: {
      list: { type: 'array', items: text },
      tuple: { type: 'array', prefixItems: [text] },
      either,
      any: { description: 'Any.', type: ['string', 'number', 'boolean', 'object', 'array', 'null'] },
      one: { enum: ['a'] },
    },
  };
  expect(said(before, refusal)).toEqual(asking(after));
  expect(said(after, refusal)).toBeUndefined();
});

test('Cerebras is told of what it does not read in the schema of an answer in words', () => {
  const refusal = "Unsupported JSON schema fields: {'minItems', 'pattern', '$ref'}";
  const parameters = { type: 'object', properties: { l: { type: 'array', minItems: 1 } } };
  const body = (list: JsonObject) => ({
    ...asking(parameters),
    response_format: { type: 'json_schema', json_schema: { name: 'r', schema: { properties: { list } } } },
  });
  const ref = { $ref: '#/$defs/a' };
  const before = body({ type: 'array', items: ref, minItems: 1 });
  const after = body({ type: 'array', items: ref, description: '{minItems: 1}' });
  expect(rephrase(before, refusal, true)).toEqual(after);
  expect(rephrase(after, refusal, true)).toBeUndefined();
  expect(said(parameters, refusal)).toBeUndefined();
});

describe('Gemini behind Databricks, which reads a subset of the keywords', () => {
  const unknown = (name: string, at = 'tools[0].function_declarations[0].parameters') =>
    `Invalid JSON payload received. Unknown name "${name}" at '${at}': Cannot find field.`;
  const parameters = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { n: { type: 'integer', exclusiveMinimum: 0 }, $schema: { type: 'string' } },
  };

  test('gets none of those that it does not know, and bounds in words', () => {
    const inner = 'tools[0].function_declarations[0].parameters.properties[0].value';
    const refusal = [unknown('$schema'), unknown('exclusiveMinimum', inner)].join('\n');
    const { $schema: _draft, ...rest } = parameters;
    const properties = {
      n: { type: 'integer', description: '{exclusiveMinimum: 0}' },
      $schema: { type: 'string' },
    };
    expect(said(parameters, refusal)).toEqual(asking({ ...rest, properties }));
    // As a router passes it on, inside of a text.
    expect(said(parameters, unknown('$schema').replaceAll('"', '\\"'))).toEqual(asking(rest));
  });

  test('keeps what refers to other schemas, and all where another field is unknown', () => {
    const referring = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } };
    expect(said(referring, unknown('$ref'))).toBeUndefined();
    expect(said(referring, unknown('$defs'))).toBeUndefined();
    expect(said(parameters, unknown('type', 'generation_config'))).toBeUndefined();
  });
});

test('a keyword within itself is told once, as it was', () => {
  let schema: JsonObject = { type: 'string' };
  for (let depth = 0; depth < 18; depth += 1) schema = { patternProperties: { '^x-': schema } };
  const refusal = "Unsupported JSON schema fields: {'patternProperties'}";
  const body = { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } };
  const words = `{patternProperties: ${JSON.stringify(schema.patternProperties)}}`;
  expect(rephrase(body, refusal, true)).toMatchObject({
    response_format: { json_schema: { schema: { description: words } } },
  });
});
