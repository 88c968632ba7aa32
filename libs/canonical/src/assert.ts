/**
 * Ends every switch over a union: a new member does not compile until it is handled. The value is not named in
 * the error, since it may be a piece of somebody's prompt.
 */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected ${typeof value} where a closed union was exhausted`);
}
