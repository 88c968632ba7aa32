/** Where a server listens. */
export interface Origin {
  isSecure: boolean;
  /** A name or an address, without the brackets of IPv6. */
  host: string;
  port: number;
  /** The value of the `host` header. */
  authority: string;
}

/** The origin of an address that begins with http: or https:. */
export function originOf(url: URL): Origin {
  const isSecure = url.protocol === 'https:';
  return {
    isSecure,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (isSecure ? 443 : 80)),
    authority: url.host,
  };
}
