import type { HttpFacts, HttpHeaders, Query } from '@sluice/formats';

/** What the formats see of a call. The path stays percent-encoded: a format decodes its own parts, once. */
export function httpFacts(url: string, headers: HttpHeaders): HttpFacts {
  const target = url.startsWith('/') ? url : url.replace(origin, '');
  const end = target.indexOf('?');
  const path = (end < 0 ? target : target.slice(0, end)).replace(/\/{2,}/g, '/');
  return { path, headers, query: end < 0 ? nothing : readQuery(target.slice(end + 1)) };
}

/** Who takes the gateway for a proxy writes the whole URL. */
const origin = /^https?:\/\/[^/?]*/i;

const nothing: Query = Object.freeze({});

/** Where a name stands twice, the first one counts. */
function readQuery(text: string): Query {
  const result: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) result[name] ??= value;
  return result;
}
