/** The value at a path of untrusted JSON; undefined if there is none. */
export function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    // An object or array may be indexed by any key; what comes back stays unknown.
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

/** The string at a path; undefined if there is anything else. */
export function digText(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = dig(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

/** The count at a path; undefined if there is anything else, which may be a number that nobody can count to. */
export function digCount(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = dig(value, ...path);
  return Number.isSafeInteger(found) && Number(found) >= 0 ? Number(found) : undefined;
}

/** The list at a path; empty if there is anything else. */
export function digList(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = dig(value, ...path);
  return Array.isArray(found) ? found : [];
}
