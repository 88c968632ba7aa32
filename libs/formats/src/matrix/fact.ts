import { type Extensible, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/**
 * One thing that a request or an answer says, whatever its place in the dialect. Two requests mean the same if their
 * facts are equal and in the same order.
 */
export interface Fact {
  /** The row of the compatibility table that it belongs to. */
  feature: string;
  /** Where it is said: a role for a piece of the conversation, a path for a setting. */
  at: string;
  says: JsonObject;
}

/** The fields that `format` filed on a thing, as part of what it says; empty if there are none. */
export function ownWords(thing: Extensible, format: string): JsonObject {
  const own = thing.extensions?.[format];
  return own === undefined ? {} : { own };
}

/** Arguments as data, so that white space makes no difference; the text itself if it is not JSON. */
export function readArguments(text: string): Json {
  if (text.trim() === '') return {};
  try {
    // Safe to cast: JSON.parse returns JSON.
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The same text for the same value, whatever the order of its keys. */
export function canonicalText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  const fields = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`);
  return `{${fields.join(',')}}`;
}

/** A fact as one line, for comparing and for reports. */
export function lineOf({ at, says }: Fact): string {
  return `${at} ${canonicalText(says)}`;
}
