import type { LookupFunction } from 'node:net';
import { attemptMs } from '@sluice/http';
import { Client } from 'undici';
import { familyOf } from './host-list.ts';

/** What a web server answered, before its body is read. */
export interface WebAnswer {
  status: number;
  /** The named header; '' if it is absent. */
  header(name: string): string;
  body: AsyncIterable<Buffer>;
}

/** One GET of a file. */
export interface WebRequest {
  url: URL;
  /** The only addresses to connect to; at least one. */
  addresses: readonly string[];
  accept: string;
  /** Longest wait for a connection, in milliseconds. If there are several addresses, each but the last gets a quarter. */
  connectTimeoutMs: number;
  /** PEM certificates that are trusted instead of the system's. */
  certificateAuthority?: string;
  signal: AbortSignal;
}

/**
 * Sends one GET over a connection of its own, passes the answer to `read`, and closes the connection afterwards.
 * Follows no redirect, uses no proxy and unpacks nothing. Rejects if the server cannot be reached.
 */
export async function download<Result>(
  { url, addresses, accept, connectTimeoutMs, certificateAuthority, signal }: WebRequest,
  read: (answer: WebAnswer) => Promise<Result>,
): Promise<Result> {
  const client = new Client(url.origin, {
    allowH2: false,
    connect: {
      lookup: pinTo(addresses),
      timeout: connectTimeoutMs,
      autoSelectFamilyAttemptTimeout: attemptMs(connectTimeoutMs),
      ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
    },
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': 'sluice' },
      signal,
    });
    // A body that is not read to its end fails when its connection closes, and nobody needs to hear of that.
    body.on('error', () => undefined);
    return await read({
      status: statusCode,
      header: (name) => String(headers[name] ?? ''),
      body,
    });
  } finally {
    await client.destroy();
  }
}

/** Answers look-ups with the addresses that were checked, so that a second DNS query cannot bring others. */
function pinTo(addresses: readonly string[]): LookupFunction {
  const pinned = addresses.map((address) => ({ address, family: familyOf(address) === 'ipv6' ? 6 : 4 }));
  return (_host, options, callback) => {
    const [first] = pinned;
    if (options.all) callback(null, pinned);
    else callback(null, first?.address ?? '', first?.family);
  };
}
