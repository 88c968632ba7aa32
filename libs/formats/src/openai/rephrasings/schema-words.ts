import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { objectOf } from '../../json/json-object.ts';
import { eachSchema, toldKeyword } from '../request/schema-walk.ts';

/** Changes a schema. One that needs no change stays the same object. */
type Change = (schema: JsonObject) => JsonObject;

/** llama.cpp, and LM Studio on top of it, makes a grammar of each schema, and reads a pattern only as a whole. */
const wantsAnchors = /\bpattern must start with '\^' and end with '\$'/i;
/**
 * Older ones do not read a schema that takes any value, whether it is an object or `true`. Fireworks reads none that
 * does not name its type.
 */
const wantsType = /\bunrecognized schema: |\bcould not understand the instance\b/i;
/** Gemini behind Databricks reads its own subset of the keywords. */
const unknownKeyword =
  /\bunknown name \\?"([\w$]+)\\?" at '(?:tools\b[^']*\.parameters|generation_config\.response_schema)\b[^']*': cannot find field/gi;

/** How Cerebras names the keywords that it does not read in the schema of an answer. */
const unsupportedKeywords = /\bunsupported json schema fields: \{([^}]*)\}/i;

/** Keywords that hold other schemas, without which a schema would mean something else. */
const referring: ReadonlySet<string> = new Set(['$ref', '$defs', 'definitions']);
/** Keywords that say nothing about the value. */
const wordless: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'title', 'examples']);

/**
 * With the schemas of functions and of the answer as this server reads them; what it does not read is told in words.
 * One such schema costs the whole request, and coding tools send some with each of theirs.
 */
export function withReadSchemas(body: JsonObject, refusal: string): JsonObject | undefined {
  const ofAnswer = unsupportedKeywords.exec(refusal)?.[1];
  const change = ofAnswer === undefined ? changeAfter(refusal) : without(ofAnswer.match(/[\w$]+/g) ?? []);
  if (!change) return undefined;
  let hasChanged = false;
  const noted: Change = (schema) => {
    const changed = change(schema);
    hasChanged ||= changed !== schema;
    return changed;
  };
  const { tools, response_format: format } = body;
  const other = {
    ...body,
    ...(Array.isArray(tools) &&
      ofAnswer === undefined && {
        tools: tools.map((tool) => within(tool, ['function', 'parameters'], noted)),
      }),
    ...(isJsonObject(format) && { response_format: within(format, ['json_schema', 'schema'], noted) }),
  };
  return hasChanged ? other : undefined;
}

/** Refusals of the field (Cohere, RouteLLM), and of functions some of which have it (Cerebras). */
const refusesStrict =
  /["'`]strict["'`] (?:is not a valid field|- extra inputs)|\bmixed values for 'strict'|\bsame strictness\b/i;

/** With functions whose schemas are not enforced. */
export function withLooseFunctions(body: JsonObject, refusal: string): JsonObject | undefined {
  const { tools } = body;
  if (!Array.isArray(tools) || !refusesStrict.test(refusal)) return undefined;
  const loose = tools.map(loosened);
  return loose.some((tool, at) => tool !== tools[at]) ? { ...body, tools: loose } : undefined;
}

function loosened(tool: Json): Json {
  const { strict, ...body } = objectOf(objectOf(tool).function);
  return strict === undefined ? tool : { ...objectOf(tool), function: body };
}

function changeAfter(refusal: string): Change | undefined {
  if (wantsAnchors.test(refusal)) return withoutOpenPattern;
  if (wantsType.test(refusal)) return withType;
  return without([...refusal.matchAll(unknownKeyword)].map(([, name = '']) => name));
}

/** Tells these keywords in words. */
function without(keywords: readonly string[]): Change | undefined {
  const names = keywords.filter((name) => !referring.has(name));
  return names.length === 0 ? undefined : (schema) => names.reduce(told, schema);
}

/** Changes the schema that is inside of a thing under these names. */
function within(thing: Json, [name = '', next]: string[], change: Change): Json {
  const inner = objectOf(thing)[name];
  if (!isJsonObject(inner)) return thing;
  const changed = next === undefined ? eachSchema(inner, change) : within(inner, [next], change);
  return { ...objectOf(thing), [name]: changed };
}

function withoutOpenPattern(schema: JsonObject): JsonObject {
  const { pattern } = schema;
  const isWhole = typeof pattern === 'string' && pattern.startsWith('^') && pattern.endsWith('$');
  return pattern === undefined || isWhole ? schema : told(schema, 'pattern');
}

/** Keywords that stand for a type. */
const typing = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'const', 'enum'];
/** Keywords from which the type follows. */
const implied = new Map([
  ['properties', 'object'],
  ['required', 'object'],
  ['items', 'array'],
  ['prefixItems', 'array'],
]);

const anyType = { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] };

function withType(schema: JsonObject): JsonObject {
  const typed = typing.some((name) => schema[name] !== undefined)
    ? schema
    : { ...schema, type: impliedType(schema) };
  const { properties, items } = typed;
  if (items === true) return { ...typed, items: anyType };
  if (!isJsonObject(properties) || !Object.values(properties).includes(true)) return typed;
  const named = Object.entries(properties).map(([name, value]) => [name, value === true ? anyType : value]);
  return { ...typed, properties: Object.fromEntries(named) };
}

function impliedType(schema: JsonObject): Json {
  for (const [name, type] of implied) if (schema[name] !== undefined) return type;
  return anyType.type;
}

/** Without a keyword, which is told in the description if it says something. */
function told(schema: JsonObject, name: string): JsonObject {
  if (!wordless.has(name)) return toldKeyword(schema, name);
  const { [name]: value, ...others } = schema;
  return value === undefined ? schema : others;
}
