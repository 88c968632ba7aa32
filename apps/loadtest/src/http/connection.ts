import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ResponseParser, type ResponseSink } from './response-parser.ts';
import type { Target } from './target.ts';

/** Why a request got no complete answer. */
export type Failure = 'connect' | 'reset' | 'protocol';

/** A request and the place for its answer. */
export interface Call extends ResponseSink {
  /** Head and body as they go over the wire. */
  readonly request: string;
  /** True when `request` holds only one-byte characters, which are cheaper to write. */
  readonly isAscii: boolean;
  /** Bytes per second at which this caller reads; absent reads at once. */
  readonly readBytesPerSecond?: number | undefined;
  /** The connection that serves the call; set and cleared by the connection. */
  connection: Connection | undefined;
  /** The request is about to be written. */
  sent(): void;
  fail(failure: Failure): void;
}

/** What a connection tells its pool. */
export interface ConnectionOwner {
  /** The answer is complete and the connection can take another call. */
  freed(connection: Connection): void;
  /** The connection is gone; `stale` is a call that a reused connection lost before any byte of its answer. */
  closed(connection: Connection, stale: Call | undefined): void;
}

/** Reading from a socket is synchronous, so one buffer serves all connections and nothing is allocated per read. */
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024);
const slowBufferBytes = 1024;

/** One HTTP/1.1 connection: one call at a time, kept alive between them. */
export class Connection implements ResponseSink {
  private readonly socket: Socket;
  private readonly parser = new ResponseParser(this);
  private readonly owner: ConnectionOwner;
  private readonly isSlow: boolean;
  /** The call in flight. */
  call: Call | undefined;
  private keepsAlive = true;
  private isConnected = false;
  private isClosed = false;
  private served = 0;

  constructor(target: Target, owner: ConnectionOwner, isSlow: boolean) {
    this.owner = owner;
    this.isSlow = isSlow;
    const { host, port } = target;
    if (target.isSecure) {
      this.socket = connectTls({ host, port, servername: host, ALPNProtocols: ['http/1.1'] });
      this.socket.on('data', (bytes: Buffer) => {
        if (!this.receive(bytes, bytes.length)) this.socket.pause();
      });
    } else {
      const buffer = isSlow ? Buffer.allocUnsafeSlow(slowBufferBytes) : sharedBuffer;
      const callback = (count: number) => this.receive(buffer, count);
      this.socket = connectTcp({ host, port, noDelay: true, onread: { buffer, callback } });
    }
    this.socket.on(target.isSecure ? 'secureConnect' : 'connect', () => {
      this.isConnected = true;
    });
    this.socket.on('error', () => this.close());
    this.socket.on('end', () => this.ended());
    this.socket.on('close', () => this.close());
  }

  /** Writes the call's request; only for a connection without a call. */
  start(call: Call): void {
    this.call = call;
    call.connection = this;
    this.parser.begin();
    call.sent();
    this.socket.write(call.request, call.isAscii ? 'latin1' : 'utf8');
  }

  /** Ends the connection and forgets its call: the caller has gone. */
  destroy(): void {
    this.release();
    this.close();
  }

  head(head: Parameters<ResponseSink['head']>[0]): void {
    this.keepsAlive = head.keepsAlive;
    this.call?.head(head);
  }

  body(bytes: Buffer, start: number, end: number): void {
    this.call?.body(bytes, start, end);
  }

  end(): void {
    const call = this.release();
    this.served += 1;
    call?.end();
    if (this.isClosed) return;
    if (this.keepsAlive && !this.isSlow) this.owner.freed(this);
    else this.close();
  }

  /** False asks the socket to stop reading until the pause of a slow reader is over. */
  private receive(bytes: Buffer, count: number): boolean {
    if (this.isClosed) return true;
    try {
      this.parser.push(bytes, count);
    } catch {
      this.drop('protocol');
      return true;
    }
    const pace = this.call?.readBytesPerSecond;
    if (pace === undefined) return true;
    setTimeout(() => this.socket.resume(), (count / pace) * 1000).unref();
    return false;
  }

  private ended(): void {
    this.keepsAlive = false;
    if (this.parser.close()) return;
    this.close();
  }

  private close(): void {
    this.drop(this.isConnected ? 'reset' : 'connect');
  }

  private drop(failure: Failure): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.socket.destroy();
    const call = this.release();
    const isStale = call !== undefined && this.served > 0 && failure === 'reset' && !this.parser.hasBegun;
    this.owner.closed(this, isStale ? call : undefined);
    if (!isStale) call?.fail(failure);
  }

  private release(): Call | undefined {
    const call = this.call;
    this.call = undefined;
    if (call) call.connection = undefined;
    return call;
  }
}
