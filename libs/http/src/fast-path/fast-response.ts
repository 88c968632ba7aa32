import { EventEmitter } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { isHeaderValue } from '../header.ts';
import type { ResponseWriter } from './response-writer.ts';
import { writeChunk } from './write-chunk.ts';

/** What a response needs from the connection that it is written to. */
export interface ResponseConnection {
  readonly socket: Socket;
  /** The idle time that the client is promised, milliseconds; absent if the connection closes after this answer. */
  readonly keepAliveMs: number | undefined;
  /** The current time as a `date` header spells it. */
  date(): string;
  /** Called when the kernel has taken all of the answer. */
  responseEnded(): void;
}

const lastChunk = '0\r\n\r\n';

/** One HTTP/1.1 answer on a connection of the fast path: with a content length, or chunked. */
export class FastResponse extends EventEmitter implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  /** Whether its head has told the client that the connection stays open. */
  invitesNext = false;
  destroyed = false;
  writableFinished = false;
  chunkedEncoding = false;
  private readonly connection: ResponseConnection;
  /** The head, until it is written together with the first piece of the body. */
  private head = '';
  private bodyBytes = 0;
  private hasEnded = false;

  constructor(connection: ResponseConnection) {
    super();
    this.connection = connection;
  }

  get socket(): Socket {
    return this.connection.socket;
  }

  get writableLength(): number {
    return this.connection.socket.writableLength;
  }

  /** Throws for a second head, and for a value that is not allowed in a header. */
  writeHead(status: number, headers: Record<string, string>): void {
    if (this.headersSent) throw new TypeError('an answer has one head');
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    for (const name in headers) {
      const value = headers[name] ?? '';
      if (!isHeaderValue(value))
        throw new TypeError(`the value of the header ${name} is not allowed in a header`);
      head += `${name}: ${value}\r\n`;
    }
    const length = headers['content-length'];
    this.chunkedEncoding = length === undefined;
    this.bodyBytes = Number(length ?? 0);
    const { keepAliveMs } = this.connection;
    const connection =
      keepAliveMs === undefined
        ? 'close'
        : `keep-alive\r\nkeep-alive: timeout=${Math.floor(keepAliveMs / 1_000)}`;
    const framing = this.chunkedEncoding ? 'transfer-encoding: chunked\r\n' : '';
    this.head = `${head}date: ${this.connection.date()}\r\nconnection: ${connection}\r\n${framing}\r\n`;
    this.invitesNext = keepAliveMs !== undefined;
    this.statusCode = status;
    this.headersSent = true;
  }

  /** Throws if the head has not been written. */
  write(text: string): void {
    this.assertBegun();
    if (this.hasEnded || text === '') return;
    const before = this.takeHead();
    if (this.chunkedEncoding) writeChunk(this.socket, text, { before });
    else this.socket.write(before + text);
  }

  /** Ends the body; with a content length, `text` is all of it. Throws if the head has not been written. */
  end(text = ''): void {
    this.assertBegun();
    if (this.hasEnded) return;
    this.hasEnded = true;
    const before = this.takeHead();
    const { socket } = this;
    const written = (error?: Error | null) => {
      if (error) return;
      this.writableFinished = true;
      this.connection.responseEnded();
    };
    if (!this.chunkedEncoding) {
      socket.write(before + text, this.bodyBytes === text.length ? 'latin1' : 'utf8', written);
    } else if (text === '') {
      socket.write(before + lastChunk, 'latin1', written);
    } else {
      writeChunk(socket, text, { before, after: lastChunk }, written);
    }
    // The kernel nearly always takes all of it at once. Then no timer is needed for a client that does not read.
    if (socket.writableLength === 0) this.writableFinished = true;
    this.emit('prefinish');
  }

  setTimeout(ms: number): void {
    this.socket.setTimeout(ms);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Tells the listeners that this answer is over. */
  close(): void {
    this.destroyed = true;
    this.emit('close');
  }

  private assertBegun(): void {
    if (!this.headersSent) throw new TypeError('an answer begins with its head');
  }

  private takeHead(): string {
    const { head } = this;
    this.head = '';
    return head;
  }
}
