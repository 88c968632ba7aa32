import { SluiceError } from '@sluice/canonical';
import { type Origin, originOf } from '@sluice/http';

/** The server under test. */
export interface Target {
  origin: Origin;
  /** Put before every path of a format; empty or starting with `/`, without a slash at its end. */
  prefix: string;
}

/** Reads a base address such as `http://127.0.0.1:8080` or `https://gateway.example/team-a`. */
export function parseTarget(address: string): Target {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SluiceError('invalid-request', `not an http address: ${address}`);
  }
  return { origin: originOf(url), prefix: url.pathname.replace(/\/+$/, '') };
}
