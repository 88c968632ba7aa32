import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions'];
const schemaLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const schemas = ['items', 'additionalProperties', 'not'];

/** Keywords that tell the type in other words. */
const typing = ['anyOf', 'oneOf', 'allOf', '$ref'];

/**
 * A function's parameters with three keywords that JSON Schema lets one leave out and OpenAI's API demands: the `type`
 * and the `properties` of the whole, even if there are none, and the `items` of every array. Many tools have no
 * parameters, and one of them costs the whole request.
 */
export function wholeParameters(schema: JsonObject): JsonObject {
  const isUntyped = schema.type === undefined && !typing.some((name) => name in schema);
  const whole = withItems(isUntyped ? { type: 'object', ...schema } : schema);
  return whole.type === 'object' && whole.properties === undefined ? { ...whole, properties: {} } : whole;
}

function withItems(schema: JsonObject): JsonObject {
  const whole = { ...schema };
  for (const name of schemaMaps) {
    const map = whole[name];
    if (isJsonObject(map))
      whole[name] = Object.fromEntries(Object.entries(map).map(([key, value]) => [key, inner(value)]));
  }
  for (const name of schemaLists) {
    const list = whole[name];
    if (Array.isArray(list)) whole[name] = list.map(inner);
  }
  for (const name of schemas) {
    const value = whole[name];
    if (value !== undefined) whole[name] = inner(value);
  }
  const isArray = whole.type === 'array' || (Array.isArray(whole.type) && whole.type.includes('array'));
  return isArray && whole.items === undefined && whole.prefixItems === undefined
    ? { ...whole, items: {} }
    : whole;
}

/** A schema may also be `true` or `false`. */
function inner(schema: Json): Json {
  return isJsonObject(schema) ? withItems(schema) : schema;
}
