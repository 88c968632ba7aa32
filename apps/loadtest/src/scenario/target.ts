import { SluiceError } from '@sluice/canonical';
import { type Origin, originOf } from '@sluice/http';

/** The server under test. */
export interface Target {
  origin: Origin;
  /** Put before every path of a format; empty or starting with `/`, without a slash at its end. */
  prefix: string;
  /** Sent with every request; empty if there is none. */
  query: string;
}

/**
 * Reads a base address such as `http://127.0.0.1:8080` or `https://gateway.example/team-a?tier=2`. A `/v1` or `/v1beta`
 * at its end, which base addresses of clients have, belongs to the formats' own paths and is left out.
 * Throws `invalid-request`.
 */
export function parseTarget(address: string): Target {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SluiceError('invalid-request', `not an http address: ${withoutUser(address)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new SluiceError(
      'invalid-request',
      'the target holds credentials, which would be in every report: give them as a header or a key',
    );
  }
  const prefix = url.pathname.replace(/\/+$/, '').replace(/\/v1(beta)?$/, '');
  return { origin: originOf(url), prefix, query: url.search.slice(1) };
}

/** The address as results may show it: without the query's values, since a query may hold a key. */
export function shownTarget(address: string): string {
  const [base = '', query] = address.split('?', 2);
  if (query === undefined) return base;
  const names = query.split('&').map((pair) => pair.replace(/=.*$/, '=…'));
  return `${base}?${names.join('&')}`;
}

function withoutUser(address: string): string {
  return address.replace(/\/\/[^/]*@/, '//');
}
