import {
  type Extensible,
  extensionsOf,
  type FormatId,
  isJsonObject,
  type Json,
  type JsonObject,
} from '@sluice/canonical';

/** The name under which this folder files what only it understands. */
export const FORMAT: FormatId = 'gemini';

/** What this format filed on a thing; empty when it filed nothing. */
export function keptOn(thing: Extensible): JsonObject {
  return extensionsOf(thing, FORMAT) ?? {};
}

/** What a destructuring left over, as JSON to be kept. */
export function leftOver(rest: Readonly<Record<string, unknown>>): JsonObject {
  return keptBeside(rest, new Set());
}

/**
 * `leftOver` of a thing without the fields that are read by name. A rest pattern would copy as much again, where each thing
 * has fields of its own at the price of a class for each.
 */
export function keptBeside(wire: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): JsonObject {
  const kept: JsonObject = {};
  for (const name in wire) {
    const value = wire[name];
    // All of it came out of JSON.parse, through schemas that pass unknown fields on unchanged.
    if (value !== undefined && !known.has(name) && name !== '__proto__') kept[name] = value as Json;
  }
  return kept;
}

/** `kept` with the fields of the object inside it that holds its body, where there are any. */
export function withInner(kept: JsonObject, name: string, inner: JsonObject): JsonObject {
  if (Object.keys(inner).length > 0) kept[name] = inner;
  return kept;
}

/** `{ [name]: fields }`, or `{}` where there are no fields, so that it can be spread. */
export function nested(name: string, fields: JsonObject): JsonObject {
  return Object.keys(fields).length === 0 ? {} : { [name]: fields };
}

/** The object that was kept under `name`; empty when there is none. */
export function nestedIn(kept: JsonObject, name: string): JsonObject {
  const value = kept[name];
  return isJsonObject(value) ? value : {};
}

/** `core` under `name`, joined by what was kept from inside of it and beside it. */
export function withKept(name: string, core: JsonObject, kept: JsonObject): JsonObject {
  const { [name]: _inner, ...beside } = kept;
  return { [name]: { ...core, ...nestedIn(kept, name) }, ...beside };
}

/** Reports the formats whose fields on this thing can't be said here. */
export function noteForeign(thing: Extensible, dropped: FormatId[]): void {
  for (const format of Object.keys(thing.extensions ?? {})) if (format !== FORMAT) dropped.push(format);
}
