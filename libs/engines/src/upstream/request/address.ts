import { type Origin, originOf } from '@sluice/http';

/** A server's base address, parsed once. */
export interface Address {
  server: Origin;
  /** The same as text: scheme, host and port. */
  origin: string;
  /** The full path and query for a path below the base address. */
  pathTo(relative: string): string;
}

/** Parses `https://host/v1?api-version=3`. The query is kept on every path. */
export function parseAddress(baseUrl: string): Address {
  const url = new URL(baseUrl);
  const base = url.pathname.replace(/\/+$/, '');
  const query = url.search.slice(1);
  return {
    server: originOf(url),
    origin: url.origin,
    pathTo(relative) {
      const path = `${base}/${relative.replace(/^\/+/, '')}`;
      if (query === '') return path;
      return `${path}${path.includes('?') ? '&' : '?'}${query}`;
    },
  };
}
