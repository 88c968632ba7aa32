import type { HttpFacts, HttpHeaders, Query } from '@sluice/formats';

/**
 * What the formats see of a call before its body. The path stays percent-encoded: each format decodes its own parts,
 * once.
 */
export function httpFacts(url: string, headers: HttpHeaders): HttpFacts {
  const target = url.startsWith('/') ? url : url.replace(origin, '');
  const end = target.indexOf('?');
  const path = (end < 0 ? target : target.slice(0, end)).replace(/\/{2,}/g, '/');
  return { path, headers, query: end < 0 ? nothing : readQuery(target.slice(end + 1)) };
}

/** Clients that take the gateway for a proxy send the whole URL as the target. */
const origin = /^https?:\/\/[^/?]*/i;

const nothing: Query = Object.freeze({});

/** Of a repeated name the first value counts. */
function readQuery(text: string): Query {
  const result: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) result[name] ??= value;
  return result;
}
