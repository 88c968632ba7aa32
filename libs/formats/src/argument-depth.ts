import type { Json } from '@sluice/canonical';

/**
 * The deepest arguments that are read as an object. No client could bring deeper ones back, whose body would be refused;
 * and thousands of levels, which a model that repeats itself writes soon, end the stack of whoever says them again.
 */
export const deepestArguments = 180;

/** Whether what was parsed is nested deeper than that. */
export function isTooDeep(value: Json, levels = deepestArguments): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}
