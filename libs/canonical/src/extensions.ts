import type { Json, JsonObject } from './json.ts';

/** Name of a public API dialect. It is an open type on purpose: adding a format does not touch this file. */
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
 * `{ extensions: { [format]: fields } }`, or `{}` when there is nothing to keep. Spread into a literal, it leaves no
 * empty record behind.
 */
export function extend(format: FormatId, fields: JsonObject): Extensible {
  return Object.keys(fields).length === 0 ? {} : { extensions: { [format]: fields } };
}

/** What `format` filed on this thing; absent when it filed nothing. */
export function extensionsOf(thing: Extensible, format: FormatId): JsonObject | undefined {
  return thing.extensions?.[format];
}

/**
 * Merges later fields into earlier ones: arrays are concatenated, anything else is replaced. A stream adds to its open
 * block this way (citations accumulate, a signature replaces).
 */
export function mergeExtensions(target: Extensible, added: Record<FormatId, JsonObject>): void {
  const merged: Record<FormatId, JsonObject> = { ...target.extensions };
  for (const [format, fields] of Object.entries(added)) {
    const before: JsonObject = { ...merged[format] };
    for (const [name, value] of Object.entries(fields)) {
      // Assigning to this name would set the object's prototype instead of a field.
      if (name === '__proto__') continue;
      const old = before[name];
      before[name] = Array.isArray(old) && Array.isArray(value) ? join(old, value) : value;
    }
    merged[format] = before;
  }
  target.extensions = merged;
}

/**
 * Lists created by `join`. Each belongs to one thing, so it can grow in place: with 10,000 citations, copying the list
 * each time would be quadratic.
 */
const ownLists = new WeakSet<Json[]>();

function join(known: Json[], added: readonly Json[]): Json[] {
  const list = ownLists.has(known) ? known : [...known];
  for (const each of added) list.push(each);
  ownLists.add(list);
  return list;
}
