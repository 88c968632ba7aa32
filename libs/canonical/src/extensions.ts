import type { Json, JsonObject } from './json.ts';

/** Name of a public API dialect. Open on purpose: a new format does not edit this file. */
export type FormatId = string;

/** Unknown *fields* of a known thing, filed under the one format that understands them. */
export interface Extensible {
  extensions?: Record<FormatId, JsonObject>;
}

/** An unknown *thing* (content part, tool, event), carried verbatim for the one format that understands it. */
export interface Opaque {
  type: 'opaque';
  format: FormatId;
  value: Json;
}

/**
 * `{ extensions: { [format]: fields } }`, or `{}` where there is nothing to keep, so that it can be spread
 * into a literal without leaving an empty record behind.
 */
export function extend(format: FormatId, fields: JsonObject): Extensible {
  return Object.keys(fields).length === 0 ? {} : { extensions: { [format]: fields } };
}

/** What `format` filed on this thing; absent means nothing was filed. */
export function extensionsOf(thing: Extensible, format: FormatId): JsonObject | undefined {
  return thing.extensions?.[format];
}

/**
 * Merges later fields into earlier ones: arrays are joined, anything else is replaced. It is how a stream
 * adds to a block that is already open (citations accumulate, a signature replaces).
 */
export function mergeExtensions(target: Extensible, added: Record<FormatId, JsonObject>): void {
  const merged: Record<FormatId, JsonObject> = { ...target.extensions };
  for (const [format, fields] of Object.entries(added)) {
    const before: JsonObject = { ...merged[format] };
    for (const [name, value] of Object.entries(fields)) {
      // Assigned, it would not become a field but the parent of them all.
      if (name === '__proto__') continue;
      const old = before[name];
      before[name] = Array.isArray(old) && Array.isArray(value) ? join(old, value) : value;
    }
    merged[format] = before;
  }
  target.extensions = merged;
}

/** Lists that were made here, each for one thing: they grow. Made anew with each of 10,000 citations they were copied as often. */
const ownLists = new WeakSet<Json[]>();

function join(known: Json[], added: readonly Json[]): Json[] {
  const list = ownLists.has(known) ? known : [...known];
  for (const each of added) list.push(each);
  ownLists.add(list);
  return list;
}
