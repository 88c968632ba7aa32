import type { HttpFacts } from './codec.ts';

/** Where a credential may stand, in the order in which the places are tried. */
const sources: readonly ((http: HttpFacts) => string | string[] | undefined)[] = [
  ({ headers }) => bearer(headers.authorization),
  ({ headers }) => headers['x-api-key'],
  ({ headers }) => headers['x-goog-api-key'],
  ({ headers }) => headers['x-provider-api-key'],
  ({ query }) => query.key,
];

/**
 * Every credential that a call carries, best first, without duplicates. Every place is read on every route. The
 * credentials may differ (a coding CLI sends both of its variables): the call is accepted if any of them is valid.
 */
export function readCredentials(http: HttpFacts): string[] {
  const found: string[] = [];
  for (const source of sources) {
    const value = source(http);
    const credential = (Array.isArray(value) ? value[0] : value)?.trim();
    if (credential && !found.includes(credential)) found.push(credential);
  }
  return found;
}

function bearer(value: string | string[] | undefined): string | undefined {
  const header = Array.isArray(value) ? value[0] : value;
  return header === undefined ? undefined : /^bearer\s+(.*)$/i.exec(header.trim())?.[1];
}
