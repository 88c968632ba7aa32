import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Keywords that hold schemas by name. */
export const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions'];
/** Keywords that hold a list of schemas. */
export const schemaLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
/** Keywords that hold one schema. */
export const schemas = ['items', 'additionalProperties', 'not'];

/** The schema, and every one inside of it, as `change` returns it. It sees the inner ones already changed. */
export function eachSchema(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const whole = { ...schema };
  // A schema may also be `true` or `false`.
  const inner = (part: Json): Json => (isJsonObject(part) ? eachSchema(part, change) : part);
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
  return change(whole);
}
