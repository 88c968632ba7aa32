import { type Call, Connection, type ConnectionOwner } from './connection.ts';
import { Dialler } from './dial.ts';
import type { Origin } from './origin.ts';
import { ResponseHeadReader } from './response-head.ts';

/** How long an idle connection is kept if the server does not say: shorter than any server or router keeps it. */
const defaultKeepAliveMs = 4_000;
/** Subtracted from the server's own limit, because a request must arrive before the server closes. */
const keepAliveMarginMs = 1_000;
const sweepMs = 1_000;

/** Where to connect, how often at the same time, and for how long to try. */
export interface PoolOptions {
  origin: Origin;
  /** Connections open at the same time; further calls wait in order. */
  maxConnections: number;
  /** Longest wait for a connection, TLS handshake included, in milliseconds. */
  connectTimeoutMs: number;
  /** Monotonic milliseconds. */
  now(): number;
  /** Called with how long each connection took to open, TLS included, in milliseconds. Absent: nobody wants to know. */
  onConnected?(durationMs: number): void;
}

/**
 * HTTP/1.1 connections to one server; each carries one call at a time. The most recently used idle connection is taken
 * first, so that the connections that a burst added grow old and close.
 *
 * It exists for the worker and the load test, which make very many small calls: a general client is expensive for those.
 * Compared with `undici.dispatch`, a worker needs 0.73 of the CPU per request and 4 KB less per open stream (`npm run
 * bench:compare`, `npm run bench -- --only requests,memory`).
 */
export class Pool implements ConnectionOwner {
  readonly heads = new ResponseHeadReader();
  private readonly options: PoolOptions;
  private readonly dialler: Dialler;
  private readonly idle: Connection[] = [];
  private readonly open = new Set<Connection>();
  private readonly waiting: Call[] = [];
  private waitingAt = 0;
  private sweepTimer: NodeJS.Timeout | undefined;
  private isClosed = false;
  /** How many connections were ever opened. */
  opened = 0;
  /** How many calls were repeated because the server had just closed the idle connection that they were sent on. */
  repeated = 0;

  constructor(options: PoolOptions) {
    this.options = options;
    this.dialler = new Dialler(options.origin, options.connectTimeoutMs);
  }

  /** Sends a call now, or as soon as a connection is free. */
  send(call: Call): void {
    if (this.isClosed) {
      call.fail('closed');
      return;
    }
    const isSlow = isSlowReader(call);
    const connection = isSlow ? undefined : this.takeIdle();
    if (connection) {
      connection.start(call);
      return;
    }
    this.makeRoom();
    if (this.open.size < this.options.maxConnections) this.connect(isSlow).start(call);
    else this.waiting.push(call);
  }

  /** Gives up a call, as a client does that closes its socket: the call hears nothing more. */
  abort(call: Call): void {
    if (call.connection) {
      call.connection.destroy();
      return;
    }
    const at = this.waiting.indexOf(call, this.waitingAt);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  /** Closes all connections. Calls that are in flight, waiting or still to come fail as `closed`. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.sweepTimer);
    for (const connection of [...this.open]) connection.close();
    for (const call of this.waiting.splice(this.waitingAt)) call.fail('closed');
  }

  now(): number {
    return this.options.now();
  }

  connected(durationMs: number): void {
    this.options.onConnected?.(durationMs);
  }

  freed(connection: Connection): void {
    const first = this.waiting[this.waitingAt];
    if (first && isSlowReader(first)) {
      // The slow reader needs its place.
      connection.close();
      return;
    }
    const next = this.shift();
    if (next) {
      connection.start(next);
      return;
    }
    const keptMs = connection.keepAliveMs;
    const usableMs = keptMs === undefined ? defaultKeepAliveMs : keptMs - keepAliveMarginMs;
    connection.expiresAt = this.options.now() + usableMs;
    this.idle.push(connection);
    this.sweepTimer ??= setTimeout(() => this.sweep(), sweepMs).unref();
  }

  closed(connection: Connection, stale: Call | undefined): void {
    this.open.delete(connection);
    const at = this.idle.lastIndexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    if (stale) {
      this.repeated += 1;
      this.connect(false).start(stale);
      return;
    }
    const next = this.shift();
    if (next) this.send(next);
  }

  /** If there is no place for another connection, closes the one that has been idle longest, else one that is spare. */
  private makeRoom(): void {
    if (this.open.size < this.options.maxConnections) return;
    const unneeded = this.idle[0] ?? this.open.values().find(({ isSpare }) => isSpare);
    unneeded?.close();
  }

  private takeIdle(): Connection | undefined {
    for (let connection = this.idle.pop(); connection; connection = this.idle.pop()) {
      if (this.options.now() < connection.expiresAt) return connection;
      connection.close();
    }
    return undefined;
  }

  private connect(isSlow: boolean): Connection {
    const connection = new Connection(this.dialler, this, this.options.connectTimeoutMs, isSlow);
    this.opened += 1;
    this.open.add(connection);
    return connection;
  }

  /** Closes connections that were idle for too long, and repeats while any is idle. */
  private sweep(): void {
    const now = this.options.now();
    for (const connection of this.idle.filter(({ expiresAt }) => expiresAt <= now)) connection.close();
    this.sweepTimer = this.idle.length > 0 ? setTimeout(() => this.sweep(), sweepMs).unref() : undefined;
  }

  /** Takes the call that has waited longest. The list is trimmed now and then, not at every call. */
  private shift(): Call | undefined {
    const call = this.waiting[this.waitingAt];
    if (!call) return undefined;
    this.waitingAt += 1;
    if (this.waitingAt > 1024 || this.waitingAt === this.waiting.length) {
      this.waiting.splice(0, this.waitingAt);
      this.waitingAt = 0;
    }
    return call;
  }
}

/** Whether a call needs a connection of its own, with a small buffer. */
function isSlowReader(call: Call): boolean {
  return call.readBytesPerSecond !== undefined;
}
