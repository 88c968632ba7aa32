/** The head of a response, as far as a load test reads it. */
export interface ResponseHead {
  status: number;
  /** True when the connection may serve another request after this answer. */
  keepsAlive: boolean;
  /** In lower case, without parameters; empty when the server sent none. */
  contentType: string;
  /** `x-sluice-queue-wait-ms`; absent when the server does not report it. */
  queueWaitMs?: number;
}

/** Where a parsed response goes. Byte ranges are valid during the call only. */
export interface ResponseSink {
  head(head: ResponseHead): void;
  body(bytes: Buffer, start: number, end: number): void;
  /** The body is complete. */
  end(): void;
}

type State =
  | 'head'
  | 'length'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailers'
  | 'until-close'
  | 'done';

const headLimit = 64 * 1024;
const newline = 10;

/**
 * An incremental HTTP/1.1 response parser: any split of the bytes, content-length, chunked with extensions
 * and trailers, bodies that end with the connection, interim 1xx answers. Throws on what is not HTTP.
 */
export class ResponseParser {
  private state: State = 'head';
  private rest: Buffer | undefined;
  private remaining = 0;
  private readonly sink: ResponseSink;

  constructor(sink: ResponseSink) {
    this.sink = sink;
  }

  /** True between responses: bytes that come now were not asked for. */
  get isIdle(): boolean {
    return this.state === 'done';
  }

  /** True when any byte of the response has come. */
  get hasBegun(): boolean {
    return this.state !== 'head' || this.rest !== undefined;
  }

  /** Makes the parser expect a response. */
  begin(): void {
    this.state = 'head';
    this.rest = undefined;
  }

  /** The connection ended. True when that is the legal end of the body. */
  close(): boolean {
    if (this.state !== 'until-close') return false;
    this.finish();
    return true;
  }

  push(bytes: Buffer, end: number): void {
    let at = 0;
    while (at < end) {
      switch (this.state) {
        case 'head':
          at = this.parseHead(bytes, at, end);
          break;
        case 'length':
        case 'chunk-data': {
          const stop = Math.min(end, at + this.remaining);
          this.remaining -= stop - at;
          this.sink.body(bytes, at, stop);
          at = stop;
          if (this.remaining === 0) this.afterData();
          break;
        }
        case 'until-close':
          this.sink.body(bytes, at, end);
          at = end;
          break;
        case 'chunk-size':
        case 'chunk-end':
        case 'trailers':
          at = this.parseLine(bytes, at, end);
          break;
        case 'done':
          throw new Error('bytes after the end of the response');
      }
    }
  }

  private afterData(): void {
    if (this.state === 'chunk-data') this.state = 'chunk-end';
    else this.finish();
  }

  private finish(): void {
    this.state = 'done';
    this.sink.end();
  }

  private parseHead(bytes: Buffer, at: number, end: number): number {
    const found = this.rest ? -1 : bytes.indexOf('\r\n\r\n', at, 'latin1');
    if (found >= 0 && found + 4 <= end) {
      this.readHead(bytes.toString('latin1', at, found));
      return found + 4;
    }
    const known = this.rest?.length ?? 0;
    const joined = Buffer.concat([this.rest ?? Buffer.alloc(0), bytes.subarray(at, end)]);
    const stop = joined.indexOf('\r\n\r\n', Math.max(0, known - 3), 'latin1');
    if (stop < 0) {
      if (joined.length > headLimit) throw new Error('response head too large');
      this.rest = joined;
      return end;
    }
    this.rest = undefined;
    this.readHead(joined.toString('latin1', 0, stop));
    return at + stop + 4 - known;
  }

  private readHead(text: string): void {
    if (!text.startsWith('HTTP/1.')) throw new Error('not an HTTP/1 response');
    const status = Number(text.slice(9, 12));
    if (!(status >= 100 && status <= 599)) throw new Error('no status in the response');
    // 100 Continue and 103 Early Hints precede the real head.
    if (status < 200) return;
    const lower = text.toLowerCase();
    const length = header(lower, 'content-length');
    const connection = header(lower, 'connection');
    const isChunked = header(lower, 'transfer-encoding')?.includes('chunked') === true;
    const queueWait = header(lower, 'x-sluice-queue-wait-ms');
    const isDelimited = isChunked || length !== undefined || status === 204 || status === 304;
    const keepsAlive =
      isDelimited && (text[7] === '0' ? connection === 'keep-alive' : connection !== 'close');
    const contentType = (header(lower, 'content-type') ?? '').split(';')[0]?.trim() ?? '';
    const waitMs = Number(queueWait ?? Number.NaN);
    this.sink.head({
      status,
      keepsAlive,
      contentType,
      ...(!Number.isNaN(waitMs) && { queueWaitMs: waitMs }),
    });
    this.remaining = isChunked ? 0 : Number(length ?? 0);
    if (isChunked) this.state = 'chunk-size';
    else if (!isDelimited) this.state = 'until-close';
    else if (this.remaining > 0) this.state = 'length';
    else this.finish();
  }

  /** Chunk sizes, the line end after a chunk, and trailers. */
  private parseLine(bytes: Buffer, at: number, end: number): number {
    const found = bytes.indexOf(newline, at);
    const stop = found < 0 || found >= end ? end : found;
    if (stop === end) {
      this.rest = Buffer.concat([this.rest ?? Buffer.alloc(0), bytes.subarray(at, end)]);
      if (this.rest.length > headLimit) throw new Error('chunk line too long');
      return end;
    }
    const line = this.rest
      ? Buffer.concat([this.rest, bytes.subarray(at, stop)]).toString('latin1')
      : bytes.toString('latin1', at, stop);
    this.rest = undefined;
    this.acceptLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    return stop + 1;
  }

  private acceptLine(line: string): void {
    if (this.state === 'chunk-end') {
      if (line !== '') throw new Error('chunk longer than its size');
      this.state = 'chunk-size';
    } else if (this.state === 'trailers') {
      if (line === '') this.finish();
    } else {
      const size = Number.parseInt(line, 16);
      if (!/^[0-9a-f]+[ \t]*(;|$)/i.test(line) || !Number.isSafeInteger(size))
        throw new Error('not a chunk size');
      this.remaining = size;
      this.state = size === 0 ? 'trailers' : 'chunk-data';
    }
  }
}

/** The value of a header in a lower-case head; undefined when it is absent. */
function header(head: string, name: string): string | undefined {
  const found = head.indexOf(`\r\n${name}:`);
  if (found < 0) return undefined;
  const from = found + name.length + 3;
  const stop = head.indexOf('\r\n', from);
  return head.slice(from, stop < 0 ? undefined : stop).trim();
}
