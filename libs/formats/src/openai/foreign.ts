import {
  type Extensible,
  extensionsOf,
  type FormatId,
  type JsonObject,
  type Opaque,
} from '@sluice/canonical';
import { FORMAT, invalid } from './wire.ts';

/**
 * This dialect's own fields of a thing. Each other format's are noted in `dropped`, as they cannot be expressed here.
 */
export function ownFields(thing: Extensible, dropped: FormatId[]): JsonObject {
  if (!thing.extensions) return {};
  for (const format of Object.keys(thing.extensions)) if (format !== FORMAT) dropped.push(format);
  return extensionsOf(thing, FORMAT) ?? {};
}

/** Splits the object that the decoder filed under this name from the other own fields. */
export function ownNested(fields: JsonObject, name: string): { outer: JsonObject; inner: JsonObject } {
  const { [name]: inner, ...outer } = fields;
  // Safe to cast: only decoders of this folder file under this name, and always an object.
  return { outer, inner: (inner ?? {}) as JsonObject };
}

/** The value of an opaque of this dialect. Throws `invalid-request` for one of another dialect. */
export function ownValue(opaque: Opaque, path: string): JsonObject {
  if (opaque.format !== FORMAT) {
    throw invalid(path, `a part that only ${opaque.format} servers understand`);
  }
  // Safe to cast: opaques of this dialect are made in this folder only, from objects.
  return opaque.value as JsonObject;
}
