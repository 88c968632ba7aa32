import type { HttpFacts, Query } from '@sluice/formats';
import type { FastifyRequest } from 'fastify';

/** What the formats see of a call. The path stays percent-encoded: a format decodes its own parts, once. */
export function httpFacts(http: FastifyRequest): HttpFacts {
  const url = http.raw.url ?? '/';
  const end = url.indexOf('?');
  const path = (end < 0 ? url : url.slice(0, end)).replace(/\/{2,}/g, '/');
  return { path, headers: http.headers, query: queryOf(http.query) };
}

/** The framework's query has a list where a name stands twice; the first one counts. */
function queryOf(query: unknown): Query {
  const result: Record<string, string | undefined> = {};
  if (typeof query !== 'object' || query === null) return result;
  for (const [name, value] of Object.entries(query)) {
    const first: unknown = Array.isArray(value) ? value[0] : value;
    if (typeof first === 'string') result[name] = first;
  }
  return result;
}
