import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** Keywords that hold schemas by name. */
const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions'];
/** Keywords that hold a list of schemas. */
const schemaLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
/** Keywords that hold one schema. */
const schemas = ['items', 'additionalProperties', 'not'];

/** A copy of the schema, with each one right inside of it as `say` returns it. `keyword` is what holds it. */
export function withInner(
  schema: JsonObject,
  say: (inner: JsonObject, keyword: string) => JsonObject,
): JsonObject {
  const whole = { ...schema };
  // A schema may also be `true` or `false`.
  const said = (part: Json, keyword: string): Json => (isJsonObject(part) ? say(part, keyword) : part);
  for (const name of schemaMaps) {
    const map = whole[name];
    if (isJsonObject(map))
      whole[name] = Object.fromEntries(Object.entries(map).map(([key, value]) => [key, said(value, name)]));
  }
  for (const name of schemaLists) {
    const list = whole[name];
    if (Array.isArray(list)) whole[name] = list.map((part) => said(part, name));
  }
  for (const name of schemas) {
    const value = whole[name];
    if (value !== undefined) whole[name] = said(value, name);
  }
  return whole;
}

/**
 * The schema, and every one inside of it, as `change` returns it. It sees the inner ones as they were: where each level
 * told the next one's words in words, 25 levels in 1 KB took a gigabyte, since quoting doubles what was quoted before.
 */
export function eachSchema(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  return withInner(change(schema), (inner) => eachSchema(inner, change));
}

/** Without a keyword that the server does not read, which is told in the description. */
export function toldKeyword(schema: JsonObject, name: string): JsonObject {
  const { [name]: value, ...others } = schema;
  if (value === undefined) return schema;
  const words = `{${name}: ${JSON.stringify(value)}}`;
  const { description } = others;
  return { ...others, description: typeof description === 'string' ? `${description}\n\n${words}` : words };
}
