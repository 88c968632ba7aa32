import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Origin } from './origin.ts';

/** How long a connection must be silent before the kernel probes whether the peer is still there. */
const probeAfterMs = 60_000;

/**
 * How long one of a name's several addresses is tried before the next one, in milliseconds: a quarter of the whole
 * connect time-out. Node's default of 250 ms is shorter than a round trip to another continent, a retransmitted packet
 * or a stall of our own process. After any of those, Node would leave a good address for one that may be bad.
 */
export function attemptMs(connectTimeoutMs: number): number {
  // Node accepts no less than 10.
  return Math.max(10, Math.ceil(connectTimeoutMs / 4));
}

/** How the owner of a socket takes what was read. */
export interface Reading {
  /** Where the socket puts the bytes. */
  buffer: Buffer;
  /** `count` bytes are in the buffer. False pauses the socket. */
  callback(count: number): boolean;
}

/** Opens connections to one origin. They share the trusted certificates and, over TLS, the last session. */
export class Dialler {
  readonly origin: Origin;
  private readonly attemptMs: number;
  private secureContext: SecureContext | undefined;
  private session: Buffer | undefined;

  constructor(origin: Origin, connectTimeoutMs: number) {
    this.origin = origin;
    this.attemptMs = attemptMs(connectTimeoutMs);
  }

  /**
   * The socket is connected when it emits `connect` or, over TLS, `secureConnect`. Whatever is written before then
   * waits.
   */
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
    // Without a shared context, every connection would load all of the system's certificates again.
    this.secureContext ??= createSecureContext();
    const socket = connectTls({
      ...options,
      secureContext: this.secureContext,
      ALPNProtocols: ['http/1.1'],
      // SNI carries names only, never IP addresses.
      ...(isIP(host) === 0 && { servername: host }),
      ...(this.session && { session: this.session }),
    });
    socket.on('session', (session) => {
      this.session = session;
    });
    return socket;
  }
}
