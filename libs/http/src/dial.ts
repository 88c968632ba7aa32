import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Origin } from './origin.ts';

/** When a connection that says nothing is asked by the kernel whether it is still there. */
const probeAfterMs = 60_000;

/**
 * How long one of several addresses of a name is tried before the next one, milliseconds: a quarter of the whole wait. Node's
 * own quarter of a second is shorter than the way to another continent, a packet that is sent again, or a standstill of
 * ours, after each of which it leaves a good address for one that may be none.
 */
export function attemptMs(connectTimeoutMs: number): number {
  // Node takes no less.
  return Math.max(10, Math.ceil(connectTimeoutMs / 4));
}

/** What the reader of a socket gives for it. */
export interface Reading {
  /** Where the bytes are put. */
  buffer: Buffer;
  /** They are there, so many; false pauses the socket. */
  callback(count: number): boolean;
}

/** Opens connections to one origin; they share the certificates that are trusted, and over TLS the last session. */
export class Dialler {
  readonly origin: Origin;
  private readonly attemptMs: number;
  private secureContext: SecureContext | undefined;
  private session: Buffer | undefined;

  constructor(origin: Origin, connectTimeoutMs: number) {
    this.origin = origin;
    this.attemptMs = attemptMs(connectTimeoutMs);
  }

  /** The socket is connected when it tells `connect` or, over TLS, `secureConnect`; what is written before waits. */
  dial(onread: Reading): Socket {
    const { isSecure, host, port } = this.origin;
    const options = {
      host,
      port,
      onread,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
      autoSelectFamilyAttemptTimeout: this.attemptMs,
    };
    if (!isSecure) return connectTcp(options);
    // Made anew for every connection otherwise, with all certificates of the system.
    this.secureContext ??= createSecureContext();
    const socket = connectTls({
      ...options,
      secureContext: this.secureContext,
      ALPNProtocols: ['http/1.1'],
      // An address is no name that a server could be asked for.
      ...(isIP(host) === 0 && { servername: host }),
      ...(this.session && { session: this.session }),
    });
    socket.on('session', (session) => {
      this.session = session;
    });
    return socket;
  }
}
