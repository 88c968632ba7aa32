/** Where a server listens. */
export interface Origin {
  isSecure: boolean;
  /** A name or an address; IPv6 without brackets. */
  host: string;
  port: number;
  /** The value of the `host` header. */
  authority: string;
}

/** The origin of an `http:` or `https:` URL. */
export function originOf(url: URL): Origin {
  const isSecure = url.protocol === 'https:';
  return {
    isSecure,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (isSecure ? 443 : 80)),
    authority: url.host,
  };
}
