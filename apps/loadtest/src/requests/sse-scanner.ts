import type { Dialect, EventFacts } from '../dialects/dialect.ts';

/** Receives what the scanner finds. */
export interface ScannerSink {
  /** The text of one event: `bytes[start, end)` is JSON string content, still escaped. Valid during the call only. */
  text(bytes: Buffer, start: number, end: number): void;
  /** Everything else that an event said; its text was reported before. */
  facts(facts: EventFacts): void;
  /** A line that is neither SSE nor JSON of the format. */
  malformed(): void;
}

const newline = 10;
const carriageReturn = 13;
const quote = 34;
const backslash = 92;
const marker = Buffer.from('data:');
const byteOrderMark = Buffer.from('\ufeff');
const quietField = /^(event|id|retry)(:|$)/;
/** Some versions of llama.cpp write an error as a field of its own. */
const failureField = 'error:';
const failureName = /^event: *error *$/;
/** Nearly all events have a longer name, which needs no further look. */
const longestFailure = 'event: error  '.length;

/**
 * The shape of the last parsed content line. A server writes all its deltas alike, so the text of the next one is found
 * by comparing a few bytes at a known place, without parsing JSON: 0.2 µs per token instead of 0.9. Shared by all
 * streams of a format in one process.
 */
export class LineShape {
  readonly key: Buffer;
  /** Bytes from the start of the line to the key; negative before the first content line. */
  offset = -1;
  /**
   * The bytes from the closing quote to the end of the line. A line with another tail is parsed: it may hold more than
   * text.
   */
  tail = Buffer.alloc(0);

  constructor(dialect: Dialect) {
    this.key = Buffer.from(dialect.textKey);
  }
}

/** Longer than any event or answer. A server that never ends a line or a body must not fill our memory. */
export const longestKeptBytes = 64 * 1024 * 1024;

/** Splits a body into lines (LF, CRLF or CR) at any byte and tells events apart. One per answer. */
export class SseScanner {
  private readonly dialect: Dialect;
  private readonly shape: LineShape;
  private readonly sink: ScannerSink;
  private readonly longestBytes: number;
  /** The byte that ends lines, known from the first line; 0 until then. */
  private lineEnd = 0;
  /** The pieces of an unfinished line. They are joined once, at its end: joining at every read would be quadratic. */
  private parts: Buffer[] = [];
  private partBytes = 0;
  private isSkipping = false;
  /** Lines of an event whose data goes over several. */
  private data: string[] | undefined;
  /** Whether the event that is read is named `error`. */
  private isFailure = false;

  constructor(dialect: Dialect, shape: LineShape, sink: ScannerSink, longestBytes = longestKeptBytes) {
    this.dialect = dialect;
    this.shape = shape;
    this.sink = sink;
    this.longestBytes = longestBytes;
  }

  push(bytes: Buffer, start: number, end: number): void {
    if (start === end) return;
    if (this.lineEnd === 0 && !this.learnLineEnd(bytes, start, end)) {
      this.hold(bytes, start, end);
      return;
    }
    let at = start;
    while (at < end) {
      // A blank line follows every event; a call into native code for it would double the cost.
      if (bytes[at] === this.lineEnd && this.partBytes === 0) {
        if (this.data) this.flush();
        at += 1;
        continue;
      }
      const stop = bytes.indexOf(this.lineEnd, at);
      if (stop < 0 || stop >= end) {
        this.hold(bytes, at, end);
        return;
      }
      if (this.partBytes > 0) this.joined(bytes, at, stop);
      else this.line(bytes, at, stop);
      at = stop + 1;
    }
  }

  /** The body has ended. Its last line may lack a line end. */
  end(): void {
    if (this.partBytes > 0) this.joined(Buffer.alloc(0), 0, 0);
    if (this.data) this.flush();
  }

  /**
   * Learns what ends lines; returns whether that is known now. Bytes held so far contain no end, except maybe the last.
   */
  private learnLineEnd(bytes: Buffer, start: number, end: number): boolean {
    const held = this.parts.at(-1);
    if (held?.at(-1) === carriageReturn) {
      this.lineEnd = bytes[start] === newline ? newline : carriageReturn;
      if (this.lineEnd === carriageReturn) this.joined(bytes, start, start);
      return true;
    }
    for (let at = start; at < end && this.lineEnd === 0; at++) {
      if (bytes[at] === newline) this.lineEnd = newline;
      // A carriage return at the end of a read may be the half of a CRLF.
      else if (bytes[at] === carriageReturn && at + 1 < end)
        this.lineEnd = bytes[at + 1] === newline ? newline : carriageReturn;
    }
    return this.lineEnd !== 0;
  }

  private hold(bytes: Buffer, start: number, end: number): void {
    this.partBytes += end - start;
    if (this.isSkipping) return;
    this.parts.push(Buffer.from(bytes.subarray(start, end)));
    if (this.partBytes <= this.longestBytes) return;
    this.parts = [];
    this.isSkipping = true;
    this.sink.malformed();
  }

  /** Completes the held line with these bytes. */
  private joined(bytes: Buffer, start: number, end: number): void {
    const { parts, isSkipping } = this;
    this.parts = [];
    this.partBytes = 0;
    this.isSkipping = false;
    if (isSkipping) return;
    const whole = Buffer.concat([...parts, bytes.subarray(start, end)]);
    this.line(whole, 0, whole.length);
  }

  private line(bytes: Buffer, start: number, lineEnd: number): void {
    const end = lineEnd > start && bytes[lineEnd - 1] === carriageReturn ? lineEnd - 1 : lineEnd;
    if (this.data === undefined && this.known(bytes, start, end)) return;
    for (let at = 0; at < marker.length; at++) {
      if (bytes[start + at] !== marker[at]) {
        this.other(bytes, start, end);
        return;
      }
    }
    this.dataLine(bytes, start, start + marker.length, end);
  }

  /** Reads a line from `start` to `end` whose data begins at `from`. */
  private dataLine(bytes: Buffer, start: number, from: number, end: number): void {
    const data = bytes.toString('utf8', from, end).trim();
    if (this.data) {
      this.data.push(data);
      return;
    }
    const facts = this.read(data);
    if (!facts) {
      this.data = [data];
      return;
    }
    // A line with an end, or with a thought, is no model for later lines: they would be read as text alone.
    const mayLearn = facts.isThought !== true && facts.isEnd !== true;
    if (facts.text) this.told(bytes, start, end, facts.text, mayLearn);
    this.sink.facts(facts);
  }

  /** Absent if the data is not JSON, or not complete. */
  private read(data: string): EventFacts | undefined {
    try {
      return this.isFailure ? this.failure(data) : this.dialect.readEvent(data);
    } catch {
      return undefined;
    }
  }

  /** An event of this name is an error, whatever it says. */
  private failure(data: string): EventFacts {
    const error = this.dialect.readError(JSON.parse(data)) ?? 'error';
    this.isFailure = false;
    return { error };
  }

  /** Ends an event whose data goes over several lines. */
  private flush(): void {
    const data = this.data?.join('\n') ?? '';
    this.data = undefined;
    // Blank data is no event.
    if (data.trim() === '') return;
    const facts = this.read(data) ?? (this.isFailure ? { error: 'error' } : undefined);
    this.isFailure = false;
    if (!facts) {
      this.sink.malformed();
      return;
    }
    if (facts.text) {
      const escaped = Buffer.from(JSON.stringify(facts.text).slice(1, -1));
      this.sink.text(escaped, 0, escaped.length);
    }
    this.sink.facts(facts);
  }

  /** True when the line looks like the last content line; its text is then reported. */
  private known(bytes: Buffer, start: number, end: number): boolean {
    const { key, offset, tail } = this.shape;
    if (offset < 0) return false;
    const from = start + offset;
    const text = from + key.length;
    if (text + tail.length > end || !holds(bytes, from, key)) return false;
    const close = closingQuote(bytes, text, end);
    if (end - close !== tail.length || close === text || !holds(bytes, close, tail)) return false;
    this.sink.text(bytes, text, close);
    return true;
  }

  /** Reports the text of a parsed line. If `mayLearn`, and it is a plain delta, also remembers where the text stood. */
  private told(bytes: Buffer, start: number, end: number, text: string, mayLearn: boolean): void {
    const found = bytes.indexOf(this.shape.key, start);
    const from = found + this.shape.key.length;
    const escaped = Buffer.from(JSON.stringify(text).slice(1, -1));
    if (mayLearn && found >= start && found < end) {
      const close = closingQuote(bytes, from, end);
      if (close - from === escaped.length && bytes.compare(escaped, 0, escaped.length, from, close) === 0) {
        this.shape.offset = found - start;
        this.shape.tail = Buffer.from(bytes.subarray(close, end));
      }
    }
    this.sink.text(escaped, 0, escaped.length);
  }

  /** Lines without data: comments, `event:`, `id:` and `retry:` are legal and say nothing new. */
  private other(bytes: Buffer, start: number, end: number): void {
    if (end === start && this.data) this.flush();
    if (end === start || bytes[start] === 58) return;
    // Some bodies begin with a byte order mark, which means nothing here.
    if (end > start + byteOrderMark.length && holds(bytes, start, byteOrderMark)) {
      this.line(bytes, start + byteOrderMark.length, end);
      return;
    }
    const name = bytes.toString('latin1', start, Math.min(end, start + 8));
    if (quietField.test(name)) {
      if (end - start <= longestFailure)
        this.isFailure ||= failureName.test(bytes.toString('latin1', start, end));
    } else if (name.startsWith(failureField)) {
      this.isFailure = true;
      this.dataLine(bytes, start, start + failureField.length, end);
    } else this.sink.malformed();
  }
}

function holds(bytes: Buffer, from: number, expected: Buffer): boolean {
  for (let at = 0; at < expected.length; at++) if (bytes[from + at] !== expected[at]) return false;
  return true;
}

/** Where the string that is open at `from` ends; `end` if it does not end before. */
function closingQuote(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return Math.min(at, end);
}
