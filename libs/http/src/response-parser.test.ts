import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtocolError, type ResponseHead, ResponseHeadReader } from './response-head.ts';
import { ResponseParser } from './response-parser.ts';

interface Heard {
  heads: ResponseHead[];
  bodies: string[];
  /** For each body, whether nothing came directly after it. */
  alone: boolean[];
}

/** Feeds the pieces to a parser that expects one response. `heads` may have read others before. */
function parse(pieces: readonly string[], heads?: ResponseHeadReader): Heard & { parser: ResponseParser } {
  const heard: Heard = { heads: [], bodies: [], alone: [] };
  let body = '';
  const sink = {
    head: (head: ResponseHead) => heard.heads.push(head),
    body: (bytes: Buffer, start: number, end: number) => {
      body += bytes.toString('latin1', start, end);
    },
    end: (isAlone: boolean) => {
      heard.bodies.push(body);
      heard.alone.push(isAlone);
    },
  };
  const parser = new ResponseParser(sink, heads);
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
  'X-Queue-Wait: 12.5\r\n\r\n5;ext=1\r\nhello\r\n1\r\n\n\r\nA\r\n world\r\n\r\n\r\n0\r\nx-trailer: 1\r\n\r\n';
const counted = 'HTTP/1.1 429 Too Many Requests\r\ncontent-length: 4\r\nConnection: close\r\n\r\nbusy';

/** An answer in chunks, in pieces. */
function chunksOf(first: string, ...more: string[]): string[] {
  return [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${first}`, ...more];
}

describe('the response parser', () => {
  it('reads the same from any split of the bytes', () => {
    fc.assert(
      fc.property(fc.constantFrom(chunked, counted), fc.array(fc.nat(), { maxLength: 30 }), (text, cuts) => {
        const whole = parse([text]);
        const pieces = parse(split(text, cuts));
        expect(pieces.heads).toEqual(whole.heads);
        expect(pieces.bodies).toEqual(whole.bodies);
        expect(pieces.alone).toEqual([true]);
      }),
    );
  });

  it('reads a response the same whatever the server has answered before, on any connection', () => {
    const answers = [
      chunked,
      counted,
      counted.replace('close', 'keep-alive'),
      counted.replace('length: 4', 'length: 3'),
      counted.replace('429', '200'),
      'HTTP/1.1 204 No Content\r\n\r\n',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...answers), { minLength: 2, maxLength: 6 }), (texts) => {
        const heads = new ResponseHeadReader();
        for (const text of texts) {
          const { parser: _one, ...after } = parse([text], heads);
          const { parser: _other, ...alone } = parse([text]);
          expect(after).toEqual(alone);
        }
      }),
    );
  });

  it('reads a head that is repeated only once', () => {
    const heads = new ResponseHeadReader();
    const [first] = parse([chunked], heads).heads;
    expect(parse([chunked], heads).heads[0]).toBe(first);
  });

  it('reads chunks, their extensions and trailers', () => {
    const { heads, bodies } = parse([chunked]);
    expect(bodies).toEqual(['hello\n world\r\n\r\n']);
    expect(heads).toMatchObject([{ status: 200, keepsAlive: true }]);
  });

  it('reads chunks of every size', () => {
    const body = Array.from({ length: 300 }, (_, size) => 'x'.repeat(size + 1));
    const chunks = body.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    expect(parse([`${head}${chunks.join('')}0\r\n\r\n`]).bodies).toEqual([body.join('')]);
  });

  it.each(['3', '03', '0000003', '000000000003', '3 ', '3;a=b'])('reads a chunk of the size %j', (size) => {
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    expect(parse([`${head}${size}\r\nabc\r\n0\r\n\r\n`]).bodies).toEqual(['abc']);
  });

  it.each([
    ['a size', '1', '0\r\n0123456789abcdef\r\n0\r\n\r\n', '0123456789abcdef'],
    ['the line end of a size', '1\r', '\na\r\n0\r\n\r\n', 'a'],
    ['the line end of a chunk', '1\r\na', '\r\n0\r\n\r\n', 'a'],
    ['half of the line end of a chunk', '1\r\na\r', '\n0\r\n\r\n', 'a'],
  ])('takes nothing that an earlier read left in the buffer after %s', (_, piece, rest, body) => {
    const first = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${piece}`;
    // As if it had been there all the time: a parser that takes it reads it twice.
    const buffer = Buffer.from(`${first}${rest}`, 'latin1');
    const { bodies, parser } = parse([]);
    parser.push(buffer, first.length);
    buffer.write(rest, 'latin1');
    parser.push(buffer, rest.length);
    expect(bodies).toEqual([body]);
  });

  it('reads bodies with a length, and says if the connection ends with them', () => {
    const { heads, bodies } = parse([counted]);
    expect(bodies).toEqual(['busy']);
    expect(heads).toMatchObject([{ status: 429, keepsAlive: false }]);
  });

  it('passes interim answers and answers without a body', () => {
    const { heads, bodies } = parse(['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n']);
    expect(heads.map((head) => head.status)).toEqual([204]);
    expect(bodies).toEqual(['']);
  });

  it('passes over empty lines before a head, which are no part of the response', () => {
    for (const pieces of [['\r\n'], ['\r', '\n'], ['\r\n\r\n', '\n']]) {
      expect(parse(pieces).parser.hasBegun).toBe(false);
      expect(parse([...pieces, counted]).bodies).toEqual(['busy']);
      expect(parse([...pieces.slice(0, -1), pieces.at(-1) + counted]).bodies).toEqual(['busy']);
    }
  });

  it('reads a body with the coding `identity` by its length', () => {
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: Identity\r\ncontent-length: 5\r\n\r\n';
    expect(parse([`${head}hello`]).bodies).toEqual(['hello']);
  });

  it('takes a body without a length to the end of the connection', () => {
    const { parser, bodies, heads } = parse(['HTTP/1.1 200 OK\r\n\r\nsome', ' more']);
    expect(bodies).toEqual([]);
    parser.close();
    expect(bodies).toEqual(['some more']);
    expect(heads[0]?.keepsAlive).toBe(false);
  });

  it.each([
    ['counted', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    ['chunked', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'],
  ])('does not take a %s body that was cut for a complete one', (_, text) => {
    const { parser, bodies } = parse([text]);
    parser.close();
    expect(bodies).toEqual([]);
  });

  it.each([
    ['a counted body', counted],
    ['the last chunk', chunked],
    ['a head without a body', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ])('says if more came after %s, and reads none of it', (_, text) => {
    const { heads, bodies, alone } = parse([`${text}HTTP/1.1 200 OK\r\n\r\nfor somebody else`]);
    expect(bodies).toEqual(parse([text]).bodies);
    expect(heads).toHaveLength(1);
    expect(alone).toEqual([false]);
  });

  it.each([
    ['no HTTP at all', ['SSH-2.0-x\r\n\r\n']],
    ['another version', ['HTTP/2 200 OK\r\n\r\n']],
    ['a status that is none', ['HTTP/1.1 999 OK\r\n\r\n']],
    ['a chunk size that is none', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n']],
    ['a chunk size with a letter too many', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1g\r\n']],
    ['a chunk size with a sign in it', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1`\r\n']],
    ['no chunk size', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\nabc\r\n']],
    [
      'half of a line end behind a chunk size',
      ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\rxabc\r\n0\r\n\r\n'],
    ],
    ['a chunk size before half of a line end', chunksOf('3\nabc\r\n0\r\n\r\n')],
    ['a chunk size in pieces before half of a line end', chunksOf('3', '\nabc\r\n0\r\n\r\n')],
    ['a chunk before half of a line end', chunksOf('3\r\nabc\n0\r\n\r\n')],
    ['half of a line end in the extension of a chunk', chunksOf('3;a\rb\r\nabc\r\n0\r\n\r\n')],
    ['half of a line end behind the last chunk', chunksOf('0\n\r\n')],
    ['half of a line end at the end', chunksOf('0\r\n\n')],
    ['half of a line end in a trailer', chunksOf('0\r\nx: a\rb\r\n\r\n')],
    ['a trailer before half of a line end', chunksOf('0\r\nx: a\n\r\n')],
    ['a chunk beyond all size', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffff\r\n']],
    ['a chunk longer than its size', ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n']],
    ['a length behind what only some take for a blank', ['HTTP/1.1 200 OK\r\ncontent-length:\f3\r\n\r\nabc']],
    [
      'a length before what only some take for a blank',
      ['HTTP/1.1 200 OK\r\ncontent-length: 3\xa0\r\n\r\nabc'],
    ],
    [
      'chunks behind what only some take for a blank',
      ['HTTP/1.1 200 OK\r\ntransfer-encoding:\vchunked\r\n\r\n'],
    ],
    ['a length that is none', ['HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n']],
    ['two lengths', ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\nContent-Length: 2\r\n\r\n']],
    ['a coding of the body that nobody asked for', ['HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n']],
    ['two codings', ['HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n']],
    [
      'two codings in two lines',
      ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n'],
    ],
    ['a line that goes on', ['HTTP/1.1 200 OK\r\ntransfer-encoding:\r\n chunked\r\n\r\n']],
    ['a length in a line that goes on', ['HTTP/1.1 200 OK\r\nx: a\r\n\tcontent-length: 3\r\n\r\n']],
    ['a length with a blank before its colon', ['HTTP/1.1 200 OK\r\ncontent-length : 3\r\n\r\nabc']],
    [
      'chunks with a blank before their colon',
      ['HTTP/1.1 200 OK\r\ntransfer-encoding\t: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
    ],
    ['half of a line end in a header', ['HTTP/1.1 200 OK\r\nx: a\rcontent-length: 3\r\n\r\nabc']],
    ['bare line feeds before an empty line', ['HTTP/1.1 200 OK\ncontent-length: 3\n\r\nabc']],
    ['bare line feeds before an empty line in pieces', ['HTTP/1.1 200 OK\nx: a\n\r', '\nabc']],
    ['an empty line that is half of one', ['HTTP/1.1 200 OK\r\nx: a\r\n\nabc']],
    ['another protocol', ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n']],
    ['bare line feeds', ['HTTP/1.1 200 OK\ncontent-length: 3\n\nabc']],
    ['bare line feeds in pieces', ['HTTP/1.1 200 OK\ncontent-length: 3\n', '\nabc']],
    [
      'bare line feeds before chunks',
      ['HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n'],
    ],
    ['a bare line feed', ['HTTP/1.1 200 OK\r\nx: a\ncontent-length: 3\r\n\r\nabc']],
    ['a head without an end', ['HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(70_000)}`]],
    [
      'a line between chunks without an end',
      ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', `3;${'y'.repeat(70_000)}`],
    ],
    ['bytes that nobody asked for', ['HTTP/1.1 204 x\r\n\r\n', 'HTTP']],
  ])('throws at %s', (_, pieces) => {
    expect(() => parse(pieces)).toThrow(ProtocolError);
  });
});

describe('the head of a response', () => {
  const [head] = parse([
    'HTTP/1.1 200 OK\r\nX-Often: A\r\nContent-Type:  Text/Plain; q="B" \r\nx-often: C\r\nx-often:D\r\n__proto__: d\r\n\r\n',
  ]).heads;

  it('returns a header by its lower-case name, with its value as it was spelled', () => {
    expect(head?.header('content-type')).toBe('Text/Plain; q="B"');
    expect(head?.header('x-often')).toBe('A');
    expect(head?.header('type')).toBeUndefined();
  });

  it('returns all of them', () => {
    expect(Object.entries(head?.headers() ?? {})).toEqual([
      ['x-often', ['A', 'C', 'D']],
      ['content-type', 'Text/Plain; q="B"'],
      ['__proto__', 'd'],
    ]);
  });

  it.each([
    ['HTTP/1.1 200 OK', 'content-length: 0', true],
    ['HTTP/1.1 200 OK', 'content-length: 0\r\nconnection: Close', false],
    ['HTTP/1.1 200 OK', 'content-length: 0\r\nconnection: x-hop, close', false],
    ['HTTP/1.1 200 OK', 'content-length: 0\r\nconnection: x-close', true],
    ['HTTP/1.0 200 OK', 'content-length: 0', false],
    ['HTTP/1.0 200 OK', 'content-length: 0\r\nConnection: Keep-Alive', true],
    ['HTTP/1.1 200 OK', 'content-length: 0\r\nconnection: x-hop\r\nConnection: close', false],
    ['HTTP/1.1 200', 'transfer-encoding: Chunked', true],
    ['HTTP/1.1 200 OK', 'transfer-encoding: chunked\r\nTransfer-Encoding: chunked', true],
    ['HTTP/1.1 200 OK', 'transfer-encoding:  chunked ', true],
    ['HTTP/1.1 200 OK', 'transfer-encoding: chunked,', false],
    ['HTTP/1.1 200 OK', 'transfer-encoding: chunked\t', false],
    ['HTTP/1.1 200 OK', 'transfer-encoding: chunked, identity', false],
    ['HTTP/1.1 200 OK', 'transfer-encoding: chunked\r\ntransfer-encoding: identity', false],
    ['HTTP/1.1 200 OK', 'transfer-encoding: identity', false],
    ['HTTP/1.1 200 OK', 'transfer-encoding: identity\r\ncontent-length: 0', true],
    ['HTTP/1.1 304 Not Modified', 'content-length: 12', true],
    ['HTTP/1.1 200 OK', 'x: a : b\r\nx-blank value: c\r\ncontent-length: 0', true],
    ['HTTP/1.1 200 OK', 'content-length: 3\r\ntransfer-encoding: chunked', false],
    ['HTTP/1.0 200 OK', 'connection: keep-alive\r\ntransfer-encoding: chunked', false],
  ])('%s with %s: stays open %s', (line, headers, keepsAlive) => {
    expect(parse([`${line}\r\n${headers}\r\n\r\n`]).heads[0]?.keepsAlive).toBe(keepsAlive);
  });
});
