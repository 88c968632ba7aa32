/**
 * Ends every switch over a union, so that a new member does not compile until it is handled. The error does not name
 * the value: it may be part of somebody's prompt.
 */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected ${typeof value} where a closed union was exhausted`);
}
