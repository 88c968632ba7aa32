/**
 * What a proxy does to the connections through it.
 * - `pass`: nothing.
 * - `refuse`: nobody listens; open connections are left alone.
 * - `drop`: new connections are closed as soon as they are made.
 * - `stall`: bytes wait, in both directions, and arrive when the fault is over.
 * - `half-open`: as `stall`, but only for bytes from the server: requests arrive, answers don't.
 * - `blackhole`: bytes vanish. Connections that lost some are reset when the fault is over.
 * - `latency`: every byte is late by so much.
 * - `throttle`: so many bytes per second in each direction.
 * - `cut-after`: a connection is reset once so many more bytes have come from its server.
 */
export type ProxyFault =
  | { kind: 'pass' | 'refuse' | 'drop' | 'stall' | 'half-open' | 'blackhole' }
  | { kind: 'latency'; delayMs: number }
  | { kind: 'throttle'; bytesPerSecond: number }
  | { kind: 'cut-after'; bytes: number };
