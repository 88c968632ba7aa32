import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { toldKeyword, withInner } from './schema-walk.ts';

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
  const whole = isUnread(schema.pattern) ? toldKeyword(schema, 'pattern') : { ...schema };
  // Without its pattern, an exclusion would exclude more, or everything. Exclusions within one that stays are not
  // searched again: 180 around each other would have the same schemas searched 180 times.
  if (!isReadable && hasUnreadPattern(whole.not)) delete whole.not;
  const said = withInner(whole, (inner, keyword) => accepted(inner, isReadable || keyword === 'not'));
  const isArray = said.type === 'array' || (Array.isArray(said.type) && said.type.includes('array'));
  return isArray && said.items === undefined && said.prefixItems === undefined
    ? { ...said, items: {} }
    : said;
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
