import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

const types: ReadonlySet<Json> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);

const isType = (value: Json) => types.has(value);
const isText = (value: Json) => typeof value === 'string';
const isFlag = (value: Json) => typeof value === 'boolean';
const isNumber = (value: Json) => typeof value === 'number';
const isCount = (value: Json) => Number.isInteger(value) && Number(value) >= 0;
const isTexts = (value: Json) => Array.isArray(value) && value.every(isText);

/** Which values the draft allows, by keyword. Keywords that it does not know may have any value. */
const allowed: Readonly<Record<string, (value: Json) => boolean>> = {
  enum: Array.isArray,
  examples: Array.isArray,
  required: isTexts,
  title: isText,
  description: isText,
  format: isText,
  pattern: isText,
  $ref: isText,
  $id: isText,
  uniqueItems: isFlag,
  deprecated: isFlag,
  readOnly: isFlag,
  writeOnly: isFlag,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: isNumber,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
};
const bounds = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const;
const schemas: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'contains',
  'propertyNames',
  'not',
]);
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

/**
 * A schema in JSON Schema 2020-12, which Claude demands of every tool. What older drafts say otherwise is said its way;
 * what is valid in no draft, as many tools write it, is left out. Keys keep their order.
 */
export function inNewestDraft(schema: JsonObject): JsonObject {
  const said = Object.entries(withNumericBounds(schema)).flatMap(([name, value]) => keyword(name, value));
  return Object.fromEntries(said);
}

function keyword(name: string, value: Json): [string, Json][] {
  if (name === '$schema') return [];
  if (name === 'type') return typesIn(value);
  if (name === 'items' && Array.isArray(value)) return keyword('prefixItems', value);
  if (schemas.has(name)) return isSchema(value) ? [[name, within(value)]] : [];
  if (lists.has(name)) {
    const list = Array.isArray(value) ? value.filter(isSchema) : [];
    return list.length === 0 ? [] : [[name, list.map(within)]];
  }
  if (maps.has(name)) return isJsonObject(value) ? [[name, ofEach(value)]] : [];
  const isAllowed = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
  return isAllowed === undefined || isAllowed(value) ? [[name, value]] : [];
}

function typesIn(value: Json): [string, Json][] {
  if (!Array.isArray(value)) return isType(value) ? [['type', value]] : [];
  const known = value.filter(isType);
  return known.length === 0 ? [] : [['type', known]];
}

/** In draft 4, a flag excludes the bound itself. */
function withNumericBounds(schema: JsonObject): JsonObject {
  let said = schema;
  for (const [bound, flag] of bounds) {
    const { [bound]: limit, [flag]: isExcluded, ...rest } = said;
    if (isExcluded === true && limit !== undefined) said = { ...rest, [flag]: limit };
  }
  return said;
}

function isSchema(value: Json): boolean {
  return isJsonObject(value) || typeof value === 'boolean';
}

function within(schema: Json): Json {
  return isJsonObject(schema) ? inNewestDraft(schema) : schema;
}

function ofEach(map: JsonObject): JsonObject {
  const valid = Object.entries(map).filter(([, schema]) => isSchema(schema));
  return Object.fromEntries(valid.map(([name, schema]) => [name, within(schema)]));
}
