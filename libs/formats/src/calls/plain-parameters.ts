import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { objectOf } from '../json/json-object.ts';

/**
 * The schema of a function's arguments without alternatives at the top level, for models that refuse a whole request
 * because of them. It is one object with the properties of all alternatives, and requires what all alternatives
 * require. The description tells the alternatives.
 */
export function plainParameters(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...plain } = schema;
  const unions = { ...(anyOf && { anyOf }), ...(oneOf && { oneOf }), ...(allOf && { allOf }) };
  if (Object.keys(unions).length === 0) return schema;
  const choices = [anyOf, oneOf].filter(Array.isArray).map((list) => variantsOf(list, schema));
  const parts = Array.isArray(allOf) ? variantsOf(allOf, schema) : [];
  const demanded = [plain, ...parts].flatMap(requiredIn);
  const shared = choices.flatMap((variants) => requiredInAll(variants));
  const required = [...new Set([...demanded, ...shared])];
  const told = `{${Object.entries(unions)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ')}}`;
  return {
    type: 'object',
    ...plain,
    properties: joined([plain, ...parts, ...choices.flat()].map(propertiesOf)),
    ...(required.length > 0 && { required }),
    description: typeof plain.description === 'string' ? `${plain.description}\n\n${told}` : told,
  };
}

/**
 * Each variant once: a client may refer to one large definition as often as fits into a body, and each time would cost
 * as much.
 */
function variantsOf(list: readonly Json[], root: JsonObject): JsonObject[] {
  return [...new Set(list.filter(isJsonObject).map((variant) => resolved(variant, root)))];
}

const reference = /^#\/(\$defs|definitions)\/([^/]+)$/;

/** The definition in the same schema that a variant refers to; else the variant itself. */
function resolved(variant: JsonObject, root: JsonObject): JsonObject {
  const [, place, name] = (typeof variant.$ref === 'string' && reference.exec(variant.$ref)) || [];
  const definitions = place === undefined ? undefined : root[place];
  const found = isJsonObject(definitions) && name !== undefined ? definitions[name] : undefined;
  return isJsonObject(found) ? found : variant;
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return objectOf(properties);
}

function requiredIn({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

function requiredInAll([first, ...others]: readonly JsonObject[]): string[] {
  if (!first) return [];
  const lists = others.map((variant) => new Set(requiredIn(variant)));
  return requiredIn(first).filter((name) => lists.every((list) => list.has(name)));
}

/** Merges properties. If a property has several schemas, each becomes an alternative. */
function joined(maps: readonly JsonObject[]): JsonObject {
  const schemas = new Map<string, Map<string, Json>>();
  for (const map of maps) {
    for (const [name, schema] of Object.entries(map)) {
      const known = schemas.get(name) ?? new Map<string, Json>();
      schemas.set(name, known.set(JSON.stringify(schema), schema));
    }
  }
  return Object.fromEntries(
    Array.from(schemas, ([name, known]) => {
      const [only, ...others] = known.values();
      return [name, others.length === 0 && only !== undefined ? only : { anyOf: [...known.values()] }];
    }),
  );
}
