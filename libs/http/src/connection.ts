import type { Socket } from 'node:net';
import type { Dialler } from './dial.ts';
import type { WireRequest } from './request.ts';
import { ProtocolError, type ResponseHead, type ResponseHeadReader } from './response-head.ts';
import { ResponseParser, type ResponseSink } from './response-parser.ts';

/** Why a request got no complete answer. `closed` means that we closed the connection. */
export type Failure = 'connect' | 'connect-timeout' | 'reset' | 'protocol' | 'closed';

/**
 * A request and the receiver of its answer: `head`, then any number of `body`, then `end`. `fail` replaces whatever is
 * still missing.
 */
export interface Call {
  readonly request: WireRequest;
  /** How many bytes per second this caller reads; absent means as fast as they come. */
  readonly readBytesPerSecond?: number | undefined;
  /**
   * Whether it has all that it wants of an answer that has not ended: its connection is closed when another call needs
   * the place. Absent means no.
   */
  readonly wantsNoMore?: boolean;
  /** The connection that serves this call; set and cleared by the connection. */
  connection: Connection | undefined;
  /** Called just before the request is written. */
  sent?(): void;
  head(head: ResponseHead): void;
  /** A piece of the body. The bytes are valid only during the call. */
  body(bytes: Buffer, start: number, end: number): void;
  end(): void;
  /** `code` is the system's or TLS's own error code, such as `ECONNREFUSED`; absent when there is none. */
  fail(failure: Failure, code?: string): void;
  /** Asked after each read until the end: true leaves what follows unread until `resume`. Absent means keep reading. */
  rests?(): boolean;
}

/** What a connection reports to its pool. */
export interface ConnectionOwner {
  /** Reads the heads of all its connections. */
  readonly heads: ResponseHeadReader;
  /** Monotonic milliseconds. */
  now(): number;
  /** The connection is open, TLS included, after so many milliseconds. */
  connected(durationMs: number): void;
  /** The answer is complete and the connection can take another call. */
  freed(connection: Connection): void;
  /**
   * The connection is gone. `stale` is a call that a reused connection lost at once, before the first byte of its answer.
   */
  closed(connection: Connection, stale: Call | undefined): void;
}

/** Reading from a socket is synchronous, so one buffer serves all connections, and a read allocates nothing. */
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024);
const slowBufferBytes = 1024;
/**
 * A server that was just closing the connection says so within a round trip. One that is silent for longer than this has
 * received the request, and dies at its work: another one might die of it, too.
 */
const staleMs = 1_000;
const keepAliveSeconds = /timeout=(\d{1,6})/;

/** One HTTP/1.1 connection: one call at a time, kept alive between them. */
export class Connection implements ResponseSink {
  /** Whether it serves a slow reader: such a connection has a small buffer of its own and serves one call only. */
  readonly isSlow: boolean;
  /** How long the server keeps the connection for its next call, in milliseconds; absent if it does not say. */
  keepAliveMs: number | undefined;
  /** The instant after which the idle connection must not be reused, by the pool's clock. */
  expiresAt = 0;
  private call: Call | undefined;
  private readonly socket: Socket;
  private readonly parser: ResponseParser;
  private readonly owner: ConnectionOwner;
  private readonly connectTimer: NodeJS.Timeout;
  private keepsAlive = true;
  /** Whether reading is paused until `resume`. TLS still delivers what it had decrypted before the pause. */
  private isResting = false;
  private isConnected = false;
  private isClosed = false;
  private errorCode: string | undefined;
  private served = 0;
  /** When the last call was started. */
  private startedAt = 0;

  constructor(dialler: Dialler, owner: ConnectionOwner, connectTimeoutMs: number, isSlow: boolean) {
    this.owner = owner;
    this.parser = new ResponseParser(this, owner.heads);
    this.isSlow = isSlow;
    const buffer = isSlow ? Buffer.allocUnsafeSlow(slowBufferBytes) : sharedBuffer;
    this.socket = dialler.dial({ buffer, callback: (count) => this.receive(buffer, count) });
    const dialledAt = owner.now();
    this.connectTimer = setTimeout(() => setImmediate(() => this.expire()), connectTimeoutMs);
    this.socket.on(dialler.origin.isSecure ? 'secureConnect' : 'connect', () => {
      this.isConnected = true;
      clearTimeout(this.connectTimer);
      owner.connected(owner.now() - dialledAt);
    });
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.errorCode = error.code;
      this.lost();
    });
    this.socket.on('end', () => this.ended());
    this.socket.on('close', () => this.lost());
  }

  /** Whether it only waits for the end of an answer that nobody wants any more of. */
  get isSpare(): boolean {
    return this.call?.wantsNoMore ?? false;
  }

  /** Writes the call's request. The connection must have no call. */
  start(call: Call): void {
    this.call = call;
    call.connection = this;
    this.startedAt = this.owner.now();
    this.parser.begin();
    call.sent?.();
    const { text, isAscii, body } = call.request;
    if (body) this.socket.cork();
    this.socket.write(text, isAscii ? 'latin1' : 'utf8');
    if (!body) return;
    this.socket.write(body);
    this.socket.uncork();
  }

  /** Reads on after the call has paused it. */
  resume(): void {
    this.isResting = false;
    this.socket.resume();
  }

  /** Closes the connection and forgets its call, whose caller has gone. */
  destroy(): void {
    this.release();
    this.drop('closed');
  }

  /** Closes the connection; its call fails. */
  close(): void {
    this.drop('closed');
  }

  head(head: ResponseHead): void {
    this.keepsAlive = head.keepsAlive;
    // A server's keep-alive promise in the first answer holds for the connection.
    if (this.served === 0) this.keepAliveMs = readKeepAlive(head);
    this.call?.head(head);
  }

  body(bytes: Buffer, start: number, end: number): void {
    this.call?.body(bytes, start, end);
  }

  end(isAlone: boolean): void {
    const call = this.release();
    this.served += 1;
    call?.end();
    // A server that answers before it has read the whole request, or sends more than the answer, cannot be reused: what
    // comes next might be taken for the answer to another call.
    const isReusable = this.keepsAlive && isAlone && !this.isSlow && this.socket.writableLength === 0;
    if (!isReusable || this.isClosed) {
      this.drop('closed');
      return;
    }
    if (this.isResting) this.resume();
    this.owner.freed(this);
  }

  /** Takes what was read; false asks the socket to stop reading. */
  private receive(bytes: Buffer, count: number): boolean {
    if (this.isClosed) return true;
    try {
      this.parser.push(bytes, count);
    } catch (thrown) {
      if (!(thrown instanceof ProtocolError)) throw thrown;
      this.drop('protocol');
      return true;
    }
    const pace = this.call?.readBytesPerSecond;
    if (pace === undefined) {
      this.isResting ||= this.call?.rests?.() ?? false;
      return !this.isResting;
    }
    setTimeout(() => this.socket.resume(), (count / pace) * 1000).unref();
    return false;
  }

  /**
   * Runs after a turn of reading sockets, because timers run before it: if our own event loop was blocked, the
   * connection may have been made by now.
   */
  private expire(): void {
    if (!this.isConnected) this.drop('connect-timeout');
  }

  private ended(): void {
    this.parser.close();
    this.lost();
  }

  private lost(): void {
    this.drop(this.isConnected ? 'reset' : 'connect');
  }

  private drop(failure: Failure): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.connectTimer);
    this.socket.destroy();
    const call = this.release();
    const isEarly = this.owner.now() - this.startedAt < staleMs;
    const isStale = this.served > 0 && failure === 'reset' && !this.parser.hasBegun && isEarly;
    this.owner.closed(this, isStale ? call : undefined);
    if (!isStale) call?.fail(failure, this.errorCode);
  }

  private release(): Call | undefined {
    const { call } = this;
    this.call = undefined;
    if (call) call.connection = undefined;
    return call;
  }
}

function readKeepAlive(head: ResponseHead): number | undefined {
  const seconds = keepAliveSeconds.exec(head.header('keep-alive') ?? '')?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
