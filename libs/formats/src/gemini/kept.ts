import { type Extensible, extensionsOf, type FormatId, type JsonObject } from '@sluice/canonical';
import { objectOf } from '../json/json-object.ts';

/** The name under which this folder files what only it understands. */
export const FORMAT: FormatId = 'gemini';

/** What this format filed on a thing; empty if it filed nothing. */
export function keptOn(thing: Extensible): JsonObject {
  return extensionsOf(thing, FORMAT) ?? {};
}

/** Adds the fields left over from an object inside of the thing to `kept`, if there are any. */
export function withInner(kept: JsonObject, name: string, inner: JsonObject): JsonObject {
  if (Object.keys(inner).length > 0) kept[name] = inner;
  return kept;
}

/** `{ [name]: fields }`, or `{}` if there are no fields; meant to be spread. */
export function nested(name: string, fields: JsonObject): JsonObject {
  return Object.keys(fields).length === 0 ? {} : { [name]: fields };
}

/** The object that was kept under `name`; empty if there is none. */
export function nestedIn(kept: JsonObject, name: string): JsonObject {
  return objectOf(kept[name]);
}

/** `core` under `name`, plus the fields that were kept inside of it and beside it. */
export function withKept(name: string, core: JsonObject, kept: JsonObject): JsonObject {
  const { [name]: _inner, ...beside } = kept;
  return { [name]: { ...core, ...nestedIn(kept, name) }, ...beside };
}

/** Adds to `dropped` the other formats whose fields on this thing cannot be expressed here. */
export function noteForeign(thing: Extensible, dropped: FormatId[]): void {
  for (const format of Object.keys(thing.extensions ?? {})) if (format !== FORMAT) dropped.push(format);
}
