import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { camelCase } from '../casing.ts';
import { schemaTypes, wordOf } from '../enum-numbers.ts';

/** Keywords grouped by what they hold. All other keywords hold data, which is left alone. */
const schemaKeywords = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const schemaListKeywords = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const schemaMapKeywords = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
]);
/** Keywords that the dialect types as int64, which protobuf writes as text. */
const countKeywords = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);
/** The dialect's own keywords that may arrive in snake_case. */
const ownKeywords = new Set(['anyOf', 'propertyOrdering', ...countKeywords]);

/**
 * Converts the dialect's `Schema` to JSON Schema: types in lower case, counts as numbers, `nullable` as a type or an
 * alternative, properties in the order of `propertyOrdering`. A JSON Schema passes through unchanged, except that its
 * upper-case types are lower-cased, too, because clients mix the two.
 */
export function decodeSchema(schema: JsonObject): JsonObject {
  const keywords: JsonObject = {};
  for (const [name, value] of Object.entries(schema)) {
    // Assigning to this name would set the object's prototype instead of a keyword.
    if (name === '__proto__') continue;
    const camel = camelCase(name);
    const keyword = ownKeywords.has(camel) ? camel : name;
    const decoded = decodeKeyword(keyword, value);
    if (decoded !== undefined) keywords[keyword] = decoded;
  }
  return withoutNullable(withoutOrdering(keywords));
}

/** Whether any part of the schema spells out the order of properties, for which JSON Schema has no keyword. */
export function spellsOrder(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(spellsOrder);
  if (!isJsonObject(schema)) return false;
  return (
    'propertyOrdering' in schema || 'property_ordering' in schema || Object.values(schema).some(spellsOrder)
  );
}

function decodeKeyword(keyword: string, value: Json): Json | undefined {
  if (keyword === 'type') return decodeType(value);
  if (schemaKeywords.has(keyword)) {
    return Array.isArray(value) ? value.map(decodeSubschema) : decodeSubschema(value);
  }
  if (schemaListKeywords.has(keyword) && Array.isArray(value)) return value.map(decodeSubschema);
  if (schemaMapKeywords.has(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, decodeSubschema(inner)]));
  }
  if (countKeywords.has(keyword) && typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return value;
}

function decodeSubschema(value: Json): Json {
  return isJsonObject(value) ? decodeSchema(value) : value;
}

function decodeType(wire: Json): Json | undefined {
  const value = wordOf(wire, schemaTypes);
  if (Array.isArray(value))
    return value.map((type) => (typeof type === 'string' ? type.toLowerCase() : type));
  if (typeof value !== 'string') return value;
  return value.toUpperCase() === 'TYPE_UNSPECIFIED' ? undefined : value.toLowerCase();
}

function withoutOrdering(schema: JsonObject): JsonObject {
  if (schema.propertyOrdering === undefined) return schema;
  const { propertyOrdering, ...rest } = schema;
  const { properties } = rest;
  if (!Array.isArray(propertyOrdering) || !isJsonObject(properties)) return rest;
  const named = propertyOrdering
    .filter((name) => typeof name === 'string')
    .filter((name) => Object.hasOwn(properties, name));
  const names = new Set([...named, ...Object.keys(properties)]);
  return {
    ...rest,
    properties: Object.fromEntries([...names].map((name) => [name, properties[name] ?? null])),
  };
}

function withoutNullable(schema: JsonObject): JsonObject {
  if (typeof schema.nullable !== 'boolean') return schema;
  const { nullable, ...rest } = schema;
  if (!nullable) return rest;
  const { type, enum: values, anyOf } = rest;
  if (typeof type === 'string' || Array.isArray(type)) {
    const types = Array.isArray(type) ? type : [type];
    const nullType = types.includes('null') ? types : [...types, 'null'];
    // An enum without null would forbid what the type allows.
    const withNull = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
    return { ...rest, type: nullType, ...withNull };
  }
  if (Array.isArray(anyOf)) return { ...rest, anyOf: [...anyOf, { type: 'null' }] };
  return typeof rest.$ref === 'string' ? { anyOf: [rest, { type: 'null' }] } : rest;
}
