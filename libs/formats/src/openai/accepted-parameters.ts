import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { schemaLists, schemaMaps, schemas } from './schema-walk.ts';

/** Keywords that tell the type in other words. */
const typing = ['anyOf', 'oneOf', 'allOf', '$ref'];

/** What JavaScript's regular expressions have and Python's do not: `\p{…}`, `\u{…}` and other escapes, named groups. */
const notPython = /\\(?![AbBdDsSwWZafnrtvxuUN])[a-zA-Z]|\\u\{|\(\?<(?![=!])/;

/**
 * A function's parameters as OpenAI's API accepts them. It demands three keywords that JSON Schema lets one leave out:
 * the `type` and the `properties` of the whole, even if there are none, and the `items` of every array. And it reads
 * patterns as Python does: any other is told in the description. One such function costs the whole request.
 */
export function acceptedParameters(schema: JsonObject): JsonObject {
  const isUntyped = schema.type === undefined && !typing.some((name) => name in schema);
  const whole = accepted(isUntyped ? { type: 'object', ...schema } : schema);
  return whole.type === 'object' && whole.properties === undefined ? { ...whole, properties: {} } : whole;
}

/** `isReadable`: whether a search has found all its patterns readable. */
function accepted(schema: JsonObject, isReadable = false): JsonObject {
  const whole = withPattern(schema);
  // Without its pattern, an exclusion would exclude more, or everything. Exclusions within one that stays are not
  // searched again: 180 around each other would have the same schemas searched 180 times.
  if (!isReadable && hasUnreadPattern(whole.not)) delete whole.not;
  const inner = (part: Json, isWithinExclusion = false): Json =>
    // A schema may also be `true` or `false`.
    isJsonObject(part) ? accepted(part, isReadable || isWithinExclusion) : part;
  for (const name of schemaMaps) {
    const map = whole[name];
    if (isJsonObject(map))
      whole[name] = Object.fromEntries(Object.entries(map).map(([key, value]) => [key, inner(value)]));
  }
  for (const name of schemaLists) {
    const list = whole[name];
    if (Array.isArray(list)) whole[name] = list.map((part) => inner(part));
  }
  for (const name of schemas) {
    const value = whole[name];
    if (value !== undefined) whole[name] = inner(value, name === 'not');
  }
  const isArray = whole.type === 'array' || (Array.isArray(whole.type) && whole.type.includes('array'));
  return isArray && whole.items === undefined && whole.prefixItems === undefined
    ? { ...whole, items: {} }
    : whole;
}

/** A copy, with a pattern that Python does not read in words. */
function withPattern(schema: JsonObject): JsonObject {
  const { pattern, ...others } = schema;
  if (!isUnread(pattern)) return { ...schema };
  const told = `{pattern: ${JSON.stringify(pattern)}}`;
  const { description } = schema;
  return { ...others, description: typeof description === 'string' ? `${description}\n\n${told}` : told };
}

function isUnread(pattern: Json | undefined): boolean {
  // An escaped backslash escapes nothing.
  return typeof pattern === 'string' && notPython.test(pattern.replaceAll('\\\\', ''));
}

/** Whether a pattern that Python does not read is anywhere in a schema. */
function hasUnreadPattern(schema: Json | undefined): boolean {
  if (Array.isArray(schema)) return schema.some(hasUnreadPattern);
  return isJsonObject(schema) && (isUnread(schema.pattern) || Object.values(schema).some(hasUnreadPattern));
}
