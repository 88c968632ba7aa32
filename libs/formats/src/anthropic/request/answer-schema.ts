import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { plainParameters } from '../../calls/plain-parameters.ts';

const formats: ReadonlySet<string> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);
const lists: ReadonlySet<string> = new Set(['anyOf', 'allOf']);
const maps: ReadonlySet<string> = new Set(['$defs', 'definitions', 'properties']);
const plain: ReadonlySet<string> = new Set(['$ref', 'enum', 'const', 'type', 'title', 'required']);

/**
 * Converts the schema of an answer, or of a strict function's arguments, to what Claude accepts. Claude refuses
 * whatever its grammar cannot enforce. So objects are closed, alternatives become `anyOf`, and an unknown keyword moves
 * into the description, as the vendor's own SDK does it. Keys keep their order, and what is added follows them.
 */
export function answerSchema(schema: JsonObject): JsonObject {
  const accepted: [string, Json][] = [];
  const unsupported: [string, Json][] = [];
  let description = '';
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'description' && typeof value === 'string') {
      description = value;
      // Holds its place; its text may grow below.
      if (value !== '') accepted.push([name, value]);
    } else if (name === 'oneOf' || lists.has(name))
      accepted.push([name === 'oneOf' ? 'anyOf' : name, each(value)]);
    else if (maps.has(name) && isJsonObject(value)) accepted.push([name, ofEach(value)]);
    else if (name === 'items') accepted.push([name, within(value)]);
    else if (plain.has(name) || isTaken(name, value)) accepted.push([name, value]);
    else if (name !== '$schema' && name !== 'additionalProperties') unsupported.push([name, value]);
  }
  if (unsupported.length > 0) {
    const listed = unsupported.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ');
    description = `${description}${description && '\n\n'}{${listed}}`;
  }
  return {
    ...Object.fromEntries(accepted),
    ...(description !== '' && { description }),
    ...(isObject(schema) && { additionalProperties: false }),
  };
}

/**
 * The schema of a function's arguments as Claude accepts it. A strict one that cannot be enforced stays as it is:
 * Claude refuses it, and the engine then asks without strictness.
 */
export function functionSchema(schema: JsonObject, isStrict: boolean): JsonObject {
  const plain = plainParameters(schema);
  return isStrict && !hasOpenObject(plain) ? answerSchema(plain) : plain;
}

/**
 * Whether an object somewhere in the schema may have fields that the schema does not name, as a map has. Claude's
 * grammar closes every object, so a map would always come back empty.
 */
export function hasOpenObject(schema: Json): boolean {
  if (!isJsonObject(schema)) return false;
  return (
    isOpenObject(schema) ||
    Object.entries(schema).some(([name, value]) => {
      if (maps.has(name)) return isJsonObject(value) && Object.values(value).some(hasOpenObject);
      if (name === 'oneOf' || lists.has(name)) return Array.isArray(value) && value.some(hasOpenObject);
      return name === 'items' && hasOpenObject(value);
    })
  );
}

/** That any further field is allowed beside named ones does not count: the named ones can be answered. */
function isOpenObject(schema: JsonObject): boolean {
  const { properties, patternProperties, additionalProperties: others } = schema;
  if (hasFields(others) || patternProperties !== undefined) return true;
  const allowsOthers = others === undefined ? properties === undefined : others !== false;
  return isObject(schema) && !hasFields(properties) && allowsOthers;
}

function hasFields(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

/**
 * Whether the schema refers back to itself, which Claude's grammar does not allow. The search keeps its own stack
 * instead of recursing, and visits each node once: a client may chain and repeat as many references as fit into a body.
 */
export function isRecursive(schema: JsonObject): boolean {
  const open = new Set<Json>([schema]);
  const closed = new Set<Json>();
  const way = [{ node: schema as Json, next: partsOf(schema, schema) }];
  for (let last = way.at(-1); last; last = way.at(-1)) {
    const { value: part, done } = last.next.next();
    if (done) {
      way.pop();
      open.delete(last.node);
      closed.add(last.node);
    } else if (open.has(part)) return true;
    else if (!closed.has(part)) {
      open.add(part);
      way.push({ node: part, next: partsOf(part, schema) });
    }
  }
  return false;
}

/** The objects and lists inside a part of a schema, definitions excluded, and the target of its reference. */
function* partsOf(part: Json, schema: JsonObject): Generator<Json, undefined> {
  if (typeof part !== 'object' || part === null) return undefined;
  for (const [name, value] of Object.entries(part)) {
    const isAside = !Array.isArray(part) && (name === '$ref' || name === '$defs' || name === 'definitions');
    if (!isAside && typeof value === 'object' && value !== null) yield value;
  }
  const target = isJsonObject(part) && typeof part.$ref === 'string' ? definitionOf(part.$ref, schema) : null;
  if (typeof target === 'object' && target !== null) yield target;
  return undefined;
}

function definitionOf(reference: string, schema: JsonObject): Json | undefined {
  if (reference === '#') return schema;
  if (!reference.startsWith('#/')) return undefined;
  let found: Json | undefined = schema;
  for (const step of reference.slice(2).split('/')) found = isJsonObject(found) ? found[step] : undefined;
  return found;
}

function isTaken(name: string, value: Json): boolean {
  if (name === 'format') return typeof value === 'string' && formats.has(value);
  return name === 'minItems' && (value === 0 || value === 1);
}

function isObject({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isJsonObject(properties);
}

function within(schema: Json): Json {
  return isJsonObject(schema) ? answerSchema(schema) : schema;
}

function each(schemas: Json): Json {
  return Array.isArray(schemas) ? schemas.map(within) : schemas;
}

function ofEach(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, within(schema)]));
}
