import type { Socket } from 'node:net';
import type { Seat } from '@sluice/runtime';
import { FastResponse, type ResponseConnection } from './fast-response.ts';
import { type RequestHead, RequestHeadReader } from './request-head.ts';

/**
 * The longest request, head and body, that is read here. Node's server reads longer ones, because it can refuse them
 * midway.
 */
const longestRequest = 64 * 1024;
/**
 * So many pieces wait side by side before they are joined. Each takes some 430 bytes beside its own: a client that sent
 * 64 KB of its next request byte by byte, while its stream ran, took 27 MB.
 */
const mostPieces = 64;
/** A request that is still incomplete at this look is handed over; there is one look a second. */
const looksAtPart = 2;

/** Answers a request whose head and body are complete. Never throws. */
export type FastHandler = (head: RequestHead, body: Buffer, response: FastResponse) => void;

/** What connections of the fast path have in common. */
export interface FastPathServices {
  /** The idle time that clients are promised for their connection, milliseconds. */
  keepAliveMs: number;
  /** How long an idle connection is really kept, milliseconds. */
  idleLimitMs: number;
  /**
   * How long a connection that was promised to stay open waits for a last request when the server closes, milliseconds.
   */
  quietMs: number;
  /** Requests with longer bodies are handed over, to be refused there. */
  bodyLimitBytes: number;
  /** Whether the server is shutting down. */
  isClosing(): boolean;
  /** The current time as a `date` header spells it. */
  date(): string;
  /** The handler for a path; absent if its requests are not for the fast path. */
  route(path: string): FastHandler | undefined;
  /** Hands the connection over to a full HTTP server, with the bytes that were read and not answered. */
  serveHttp(socket: Socket, bytes: Buffer): void;
  /** Called once, when the connection has closed or been handed over. */
  onLeave(connection: FastConnection): void;
}

/**
 * A client's connection for as long as it sends nothing but plain requests, one after the other. At the first thing
 * that is not one, the connection is handed over with all bytes that have not been answered, and never comes back.
 */
export class FastConnection implements ResponseConnection {
  readonly socket: Socket;
  seat: Seat<FastConnection> | undefined;
  private readonly services: FastPathServices;
  private readonly heads = new RequestHeadReader();
  private response: FastResponse | undefined;
  /** Bytes that have not yet become a request, in order. */
  private arrived: Buffer[] = [];
  private arrivedBytes = 0;
  /** A request whose body is not complete yet. */
  private begun: { head: RequestHead; handler: FastHandler } | undefined;
  private hasAnswered = false;
  /** Looks at this connection since its last request began. */
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
    // The stall limit of the last answer must not end a client that takes its time to ask again.
    if (socket.timeout) socket.setTimeout(0);
    response.close();
    const isClosing = this.services.isClosing();
    if (isClosing && !response.invitesNext) socket.destroySoon();
    else if (this.arrivedBytes > 0) {
      socket.resume();
      this.readRequest();
    } else if (isClosing) this.lastWait = setTimeout(() => this.retire(), this.services.quietMs);
  }

  /**
   * Hands over a request that arrives too slowly, and closes a connection that was idle for too long. Call it once a
   * second.
   */
  look(): void {
    if (this.response) return;
    this.looks += 1;
    const isQuiet = this.hasAnswered && this.arrivedBytes === 0;
    if (!isQuiet) {
      if (this.looks >= looksAtPart) this.handOver();
    } else if (this.looks * 1_000 > this.services.idleLimitMs) this.socket.destroy();
  }

  /** Closes the connection because the server shuts down, unless a request is being answered or has begun to arrive. */
  retire(): void {
    if (!this.response && this.arrivedBytes === 0) this.socket.destroy();
  }

  private readonly onData = (bytes: Buffer): void => {
    if (this.arrived.length === mostPieces) this.arrived = [Buffer.concat(this.arrived)];
    this.arrived.push(bytes);
    this.arrivedBytes += bytes.length;
    if (!this.response) this.readRequest();
    // The client sends its next requests ahead: enough of them are buffered, so no more are read for now.
    else if (this.arrivedBytes > longestRequest) this.socket.pause();
  };

  private readonly onEnd = (): void => {
    // A request that ends midway is refused, counted and logged by the full server, as every broken one.
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

  /** Answers the next request if it has arrived in full; hands the connection over if the request is not plain. */
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

  /**
   * The head in the first piece of bytes; absent if it is not complete there, or the request is not for the fast path.
   */
  private readHead(): FastConnection['begun'] {
    const { services } = this;
    const [first] = this.arrived;
    const head = first && this.heads.read(first);
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

/** A socket's error is always followed by its `close`, which is handled. */
function ignore(): void {}
