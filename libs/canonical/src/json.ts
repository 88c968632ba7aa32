/** Whatever `JSON.parse` can return. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** True for a plain object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the value holds only empty texts and lists, as servers send before an answer. It looks four levels deep. */
export function saysNothing(value: Json, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return value === '' || value === null;
  return depth < 4 && Object.values(value).every((inner) => saysNothing(inner, depth + 1));
}
