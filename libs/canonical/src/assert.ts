/** Ends every switch over a union: a new member does not compile until it is handled. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value of a closed union: ${JSON.stringify(value)}`);
}
