import { type Call, Connection, type ConnectionOwner } from './connection.ts';
import type { Target } from './target.ts';

/** Settings of a pool. */
export interface PoolOptions {
  target: Target;
  /** Connections at the same time; further calls wait in order. */
  maxConnections: number;
}

/**
 * Connections to one server. The most recently used idle connection goes first, so that a pool that was
 * widened by a burst lets the rest grow old.
 */
export class Pool implements ConnectionOwner {
  private readonly options: PoolOptions;
  private readonly idle: Connection[] = [];
  private readonly open = new Set<Connection>();
  private readonly waiting: Call[] = [];
  private waitingAt = 0;
  /** Connections opened in all. */
  opened = 0;
  /** Calls repeated because the server had closed an idle connection just before. */
  repeated = 0;

  constructor(options: PoolOptions) {
    this.options = options;
  }

  /** Sends a call now, or when a connection is free. */
  send(call: Call): void {
    // A slow reader gets a connection of its own, with a small buffer.
    const isSlow = call.readBytesPerSecond !== undefined;
    const connection = isSlow ? undefined : this.idle.pop();
    if (connection) connection.start(call);
    else if (this.open.size < this.options.maxConnections) this.connect(isSlow).start(call);
    else this.waiting.push(call);
  }

  /** Leaves a call, as a client does that closes its socket. */
  abort(call: Call): void {
    if (call.connection) {
      call.connection.destroy();
      return;
    }
    const at = this.waiting.indexOf(call, this.waitingAt);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  /** Ends all connections; their calls are forgotten. */
  close(): void {
    this.waiting.length = 0;
    this.waitingAt = 0;
    for (const connection of [...this.open]) connection.destroy();
  }

  freed(connection: Connection): void {
    const next = this.shift();
    if (next) connection.start(next);
    else this.idle.push(connection);
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

  private connect(isSlow: boolean): Connection {
    const connection = new Connection(this.options.target, this, isSlow);
    this.opened += 1;
    this.open.add(connection);
    return connection;
  }

  /** The longest waiting call. The list is cut now and then, not at every call. */
  private shift(): Call | undefined {
    const call = this.waiting[this.waitingAt];
    if (!call) return undefined;
    this.waitingAt += 1;
    if (this.waitingAt > 1024) {
      this.waiting.splice(0, this.waitingAt);
      this.waitingAt = 0;
    }
    return call;
  }
}
