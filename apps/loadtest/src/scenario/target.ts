import { SluiceError } from '@sluice/canonical';
import { type Origin, originOf } from '@sluice/http';
import type { FormatName } from '../dialects/dialect.ts';

/** The server under test. */
export interface Target {
  origin: Origin;
  /** Put before every path of a format; empty or starting with `/`, without a slash at its end. */
  prefix: string;
  /** Where the requests of one format go, if the address names that. Absent: it is the base of all formats. */
  endpoint?: { format: FormatName; path: string };
  /** Sent with every request; empty if there is none. */
  query: string;
}

/** How the paths of formats end that no model is part of. */
const endings: readonly { format: FormatName; path: string }[] = [
  { format: 'openai', path: '/chat/completions' },
  { format: 'anthropic', path: '/messages' },
];

/**
 * Reads a base address such as `http://127.0.0.1:8080` or `https://gateway.example/team-a?tier=2`. A `/v1` or `/v1beta`
 * at its end, which base addresses of clients have, belongs to the formats' own paths and is left out. An address that
 * ends as the requests of a format do, such as `http://127.0.0.1:8000/v3/chat/completions`, is their place.
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
  const path = url.pathname.replace(/\/+$/, '');
  const prefix = path.replace(/\/v1(beta)?$/, '');
  const ending = endings.find((each) => path.endsWith(each.path));
  return {
    origin: originOf(url),
    prefix,
    ...(ending && { endpoint: { format: ending.format, path } }),
    query: url.search.slice(1),
  };
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
