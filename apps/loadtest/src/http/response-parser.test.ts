import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ResponseHead, ResponseParser } from './response-parser.ts';

interface Heard {
  heads: ResponseHead[];
  bodies: string[];
}

/** Feeds the pieces and begins a new response after each that ended. */
function parse(pieces: readonly string[]): Heard & { parser: ResponseParser } {
  const heard: Heard = { heads: [], bodies: [] };
  let body = '';
  const parser: ResponseParser = new ResponseParser({
    head: (head) => heard.heads.push(head),
    body: (bytes, start, end) => {
      body += bytes.toString('latin1', start, end);
    },
    end: () => {
      heard.bodies.push(body);
      body = '';
    },
  });
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, 'latin1');
    parser.push(bytes, bytes.length);
  }
  return { ...heard, parser };
}

function split(text: string, at: readonly number[]): string[] {
  const cuts = [0, ...at.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return cuts.slice(1).map((cut, i) => text.slice(cuts[i], cut));
}

const chunked =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n' +
  'X-Sluice-Queue-Wait-Ms: 12.5\r\n\r\n5;ext=1\r\nhello\r\n1\r\n\n\r\nA\r\n world\r\n\r\n\r\n0\r\nx-trailer: 1\r\n\r\n';
const counted = 'HTTP/1.1 429 Too Many Requests\r\ncontent-length: 4\r\nConnection: close\r\n\r\nbusy';

describe('the response parser', () => {
  it('reads the same from any split of the bytes', () => {
    fc.assert(
      fc.property(fc.constantFrom(chunked, counted), fc.array(fc.nat(), { maxLength: 30 }), (text, cuts) => {
        const whole = parse([text]);
        const pieces = parse(split(text, cuts));
        expect(pieces.heads).toEqual(whole.heads);
        expect(pieces.bodies).toEqual(whole.bodies);
        expect(pieces.parser.isIdle).toBe(true);
      }),
    );
  });

  it('reads chunks, their extensions and trailers, and the queue wait', () => {
    const { heads, bodies } = parse([chunked]);
    expect(bodies).toEqual(['hello\n world\r\n\r\n']);
    expect(heads).toEqual([
      { status: 200, keepsAlive: true, contentType: 'text/event-stream', queueWaitMs: 12.5 },
    ]);
  });

  it('reads counted bodies and says when the connection ends with them', () => {
    const { heads, bodies } = parse([counted]);
    expect(bodies).toEqual(['busy']);
    expect(heads).toEqual([{ status: 429, keepsAlive: false, contentType: '' }]);
  });

  it('passes interim answers and answers without a body', () => {
    const { heads, bodies } = parse(['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n']);
    expect(heads.map((head) => head.status)).toEqual([204]);
    expect(bodies).toEqual(['']);
  });

  it('takes a body without a length to the end of the connection', () => {
    const { parser, bodies, heads } = parse(['HTTP/1.1 200 OK\r\n\r\nsome', ' more']);
    expect(bodies).toEqual([]);
    expect(parser.close()).toBe(true);
    expect(bodies).toEqual(['some more']);
    expect(heads[0]?.keepsAlive).toBe(false);
  });

  it('does not take a counted body that was cut for a whole one', () => {
    const { parser } = parse(['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf']);
    expect(parser.close()).toBe(false);
  });

  it.each([
    ['no HTTP at all', 'SSH-2.0-x\r\n\r\n'],
    ['a chunk size that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
    ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['bytes after the end', 'HTTP/1.1 204 x\r\n\r\nHTTP'],
  ])('throws at %s', (_, text) => {
    expect(() => parse([text])).toThrow();
  });
});
