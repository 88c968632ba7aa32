import { type Extensible, isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/**
 * One thing that a request or an answer says, apart from how its dialect arranges it. Two requests mean the same
 * when their facts are equal and in the same order.
 */
export interface Fact {
  /** Which row of the compatibility table it belongs to. */
  feature: string;
  /** Where it is said: a role for a piece of the conversation, a path for a setting. */
  at: string;
  says: JsonObject;
}

/** What `format` filed on a thing, as something that it says; empty when nothing was filed. */
export function ownWords(thing: Extensible, format: string): JsonObject {
  const own = thing.extensions?.[format];
  return own === undefined ? {} : { own };
}

/** Arguments as data where they are JSON, so that white space is no difference; else the text itself. */
export function readArguments(text: string): Json {
  if (text.trim() === '') return {};
  try {
    // JSON.parse returns JSON.
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

/** A fact as one line, for comparing and for showing what differs. */
export function lineOf({ at, says }: Fact): string {
  return `${at} ${canonicalText(says)}`;
}
