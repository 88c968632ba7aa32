import type { JsonObject } from '@sluice/canonical';
import type { HttpFacts } from './codec.ts';

/** Where a credential may stand. */
interface CredentialPlace {
  /** As OpenAPI describes it. */
  readonly scheme: JsonObject;
  read(http: HttpFacts): string | string[] | undefined;
}

const inHeader = (name: string): JsonObject => ({ type: 'apiKey', in: 'header', name });

/** All places by their names in the OpenAPI document, in the order in which they are tried. The only list of them. */
const credentialPlaces: Readonly<Record<string, CredentialPlace>> = {
  bearer: {
    scheme: { type: 'http', scheme: 'bearer' },
    read: ({ headers }) => bearer(headers.authorization),
  },
  xApiKey: { scheme: inHeader('x-api-key'), read: ({ headers }) => headers['x-api-key'] },
  xGoogApiKey: { scheme: inHeader('x-goog-api-key'), read: ({ headers }) => headers['x-goog-api-key'] },
  xProviderApiKey: {
    scheme: inHeader('x-provider-api-key'),
    read: ({ headers }) => headers['x-provider-api-key'],
  },
  key: { scheme: { type: 'apiKey', in: 'query', name: 'key' }, read: ({ query }) => query.key },
};

const places = Object.values(credentialPlaces);

/** How a caller may identify itself, as the OpenAPI document says it. */
export const credentialSchemes: JsonObject = Object.fromEntries(
  Object.entries(credentialPlaces).map(([name, { scheme }]) => [name, scheme]),
);

/**
 * Every credential that a call carries, best first, without duplicates. Every place is read on every route. The
 * credentials may differ (a coding CLI sends both of its variables): the call is accepted if any of them is valid.
 */
export function readCredentials(http: HttpFacts): string[] {
  const found: string[] = [];
  for (const place of places) {
    const value = place.read(http);
    const credential = (Array.isArray(value) ? value[0] : value)?.trim();
    if (credential && !found.includes(credential)) found.push(credential);
  }
  return found;
}

function bearer(value: string | string[] | undefined): string | undefined {
  const header = Array.isArray(value) ? value[0] : value;
  return header === undefined ? undefined : /^bearer\s+(.*)$/i.exec(header.trim())?.[1];
}
