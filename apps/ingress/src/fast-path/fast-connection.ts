import type { Socket } from 'node:net';
import { FastResponse, type ResponseConnection } from './fast-response.ts';
import { type RequestHead, readRequestHead } from './request-head.ts';

/** The longest request that is waited for here, head and body. Longer ones are read by who can refuse them half-way. */
const longestRequest = 64 * 1024;
/** Looks at a connection, one a second, after which a request that is still not whole is somebody else's. */
const looksAtPart = 2;

/** Answers a request that has arrived whole. Never throws. */
export type FastHandler = (head: RequestHead, body: Buffer, response: FastResponse) => void;

/** What connections of the fast path have in common. */
export interface FastPathServices {
  /** How long clients are told that a connection waits for its next request, milliseconds. */
  keepAliveMs: number;
  /** How long it does wait, milliseconds. */
  idleLimitMs: number;
  /** How long a connection that was promised to stay open waits for a last request when the server closes, milliseconds. */
  quietMs: number;
  /** Longer bodies are refused, elsewhere. */
  bodyLimitBytes: number;
  /** Whether the server takes no more requests. */
  isClosing(): boolean;
  date(): string;
  /** Who answers requests for a path; absent when they are not for the fast path. */
  route(path: string): FastHandler | undefined;
  /** Serves HTTP in full on a connection, of which these bytes have been read. */
  serveHttp(socket: Socket, bytes: Buffer): void;
  /** Told once: the connection is closed, or served in full from now on. */
  onLeave(connection: FastConnection): void;
}

/**
 * One client's connection as long as it sends nothing but plain requests, one after the other. With the first thing
 * that is anything else, it is handed over with all that was not answered yet, and never comes back.
 */
export class FastConnection implements ResponseConnection {
  readonly socket: Socket;
  private readonly services: FastPathServices;
  private response: FastResponse | undefined;
  /** Bytes that no request was made of yet, in order. */
  private arrived: Buffer[] = [];
  private arrivedBytes = 0;
  /** A request whose body is not whole yet. */
  private begun: { head: RequestHead; handler: FastHandler } | undefined;
  private hasAnswered = false;
  /** How often this connection was looked at since its last request began. */
  private looks = 0;
  private lastWait: NodeJS.Timeout | undefined;

  constructor(socket: Socket, services: FastPathServices) {
    this.socket = socket;
    this.services = services;
    socket.on('data', this.onData);
    socket.on('end', this.onEnd);
    socket.on('drain', this.onDrain);
    socket.on('timeout', this.onTimeout);
    socket.on('error', ignore);
    socket.on('close', this.onClose);
  }

  get keepAliveMs(): number | undefined {
    return this.services.isClosing() ? undefined : this.services.keepAliveMs;
  }

  date(): string {
    return this.services.date();
  }

  responseEnded(): void {
    const { response, socket } = this;
    if (!response) return;
    this.response = undefined;
    this.hasAnswered = true;
    // A client that read slowly at the end may take its time to ask again.
    if (socket.timeout) socket.setTimeout(0);
    response.close();
    const isClosing = this.services.isClosing();
    if (isClosing && !response.invitesNext) socket.destroySoon();
    else if (this.arrivedBytes > 0) {
      socket.resume();
      this.readRequest();
    } else if (isClosing) this.lastWait = setTimeout(() => this.retire(), this.services.quietMs);
  }

  /** Takes a look; call it once a second. Ends what waits for too long. */
  look(): void {
    if (this.response) return;
    this.looks += 1;
    const isQuiet = this.hasAnswered && this.arrivedBytes === 0;
    if (!isQuiet) {
      if (this.looks >= looksAtPart) this.handOver();
    } else if (this.looks * 1_000 > this.services.idleLimitMs) this.socket.destroy();
  }

  /** The server takes no more requests: a connection is closed, unless it has one or a part of one. */
  retire(): void {
    if (!this.response && this.arrivedBytes === 0) this.socket.destroy();
  }

  private readonly onData = (bytes: Buffer): void => {
    this.arrived.push(bytes);
    this.arrivedBytes += bytes.length;
    if (!this.response) this.readRequest();
    // A client that asks ahead: its next requests wait, and so do we with reading more of them.
    else if (this.arrivedBytes > longestRequest) this.socket.pause();
  };

  private readonly onEnd = (): void => {
    // Half a request is refused, counted and logged where every other one is.
    if (this.begun && !this.response) this.handOver();
    else this.socket.end();
  };

  private readonly onDrain = (): void => {
    this.response?.emit('drain');
  };

  private readonly onTimeout = (): void => {
    this.response?.emit('timeout');
  };

  private readonly onClose = (): void => {
    this.services.onLeave(this);
    clearTimeout(this.lastWait);
    this.arrived = [];
    this.response?.close();
  };

  /** Makes a request of what has arrived, if it is whole and of our kind. */
  private readRequest(): void {
    const { arrived } = this;
    if (!this.begun) {
      this.looks = 0;
      this.begun = this.readHead();
    }
    if (!this.begun) {
      this.handOver();
      return;
    }
    const { head, handler } = this.begun;
    const length = head.length + head.contentLength;
    if (this.arrivedBytes < length) return;
    const bytes = arrived.length === 1 && arrived[0] ? arrived[0] : Buffer.concat(arrived);
    this.arrived = bytes.length === length ? [] : [bytes.subarray(length)];
    this.arrivedBytes -= length;
    this.begun = undefined;
    this.response = new FastResponse(this);
    handler(head, bytes.subarray(head.length, length), this.response);
  }

  /** The head in the first of the bytes; absent where it is not whole there, or the request is not for us. */
  private readHead(): FastConnection['begun'] {
    const { services } = this;
    const [first] = this.arrived;
    const head = first && readRequestHead(first);
    if (!head || head.contentLength > services.bodyLimitBytes) return undefined;
    if (head.length + head.contentLength > longestRequest) return undefined;
    const handler = services.route(head.path);
    return handler && { head, handler };
  }

  private handOver(): void {
    const { socket, services } = this;
    socket.off('data', this.onData);
    socket.off('end', this.onEnd);
    socket.off('drain', this.onDrain);
    socket.off('timeout', this.onTimeout);
    socket.off('error', ignore);
    socket.off('close', this.onClose);
    clearTimeout(this.lastWait);
    const bytes = Buffer.concat(this.arrived);
    this.arrived = [];
    services.onLeave(this);
    services.serveHttp(socket, bytes);
  }
}

/** An error of a socket is followed by its end, which is what counts. */
function ignore(): void {}
