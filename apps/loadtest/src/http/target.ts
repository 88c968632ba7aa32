import { SluiceError } from '@sluice/canonical';

/** A server as connections need it. */
export interface Target {
  isSecure: boolean;
  host: string;
  port: number;
  /** The value of the `host` header. */
  authority: string;
  /** Put before every path of a format; empty or starting with `/`, without a slash at its end. */
  prefix: string;
}

/** Reads a base address such as `http://127.0.0.1:8080` or `https://gateway.example/team-a`. */
export function parseTarget(address: string): Target {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SluiceError('invalid-request', `not an http address: ${address}`);
  }
  const isSecure = url.protocol === 'https:';
  return {
    isSecure,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (isSecure ? 443 : 80)),
    authority: url.host,
    prefix: url.pathname.replace(/\/+$/, ''),
  };
}
