import type { Json } from '@sluice/canonical';

/**
 * The deepest nesting of arguments that are read as an object. A client could not bring deeper ones back, because its
 * body would be refused. And a model that repeats itself soon writes thousands of levels, which overflow the stack of
 * whoever serializes them.
 */
export const deepestArguments = 180;

/** Whether a parsed value is nested deeper than `levels`. */
export function isTooDeep(value: Json, levels = deepestArguments): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}
