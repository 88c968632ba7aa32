import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createServer, type Server } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProtocolError, type ResponseHead } from './response-head.ts';
import { ResponseParser } from './response-parser.ts';

/** One of the usual texts, or now and then an odd one. */
const oneOf = (usual: readonly string[], odd: readonly string[]) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );

const blank = oneOf(['', ' '], ['\t', '\f', '\v', '\xa0']);
const header = (name: string, value: fc.Arbitrary<string>) =>
  fc.tuple(blank, value, blank).map(([before, text, after]) => `${name}:${before}${text}${after}\r\n`);
const absent = fc.constant('');
const length = header('Content-Length', oneOf(['3'], ['03', '+3', '3,3', '4', '']));
const codings = ['Chunked', 'xchunked', 'identity', 'identity, chunked', 'chunked, identity', ''];
const coding = header('transfer-encoding', oneOf(['chunked'], [...codings, 'chunked,', ',chunked']));
const others = fc.oneof(
  { weight: 4, arbitrary: absent },
  { weight: 1, arbitrary: header('connection', fc.constantFrom('keep-alive', 'close')) },
  { weight: 1, arbitrary: length },
  { weight: 1, arbitrary: coding },
);

const extension = oneOf([''], [';a', ';a=b', ';a="b"']);
const chunk = fc
  .tuple(fc.constantFrom('3', '03'), extension)
  .map(([size, more]) => `${size}${more}\r\nabc\r\n`);
const lastChunk = fc
  .tuple(fc.constantFrom('0', '00'), extension, fc.constantFrom('', 'y: z\r\n'))
  .map(([size, more, trailer]) => `${size}${more}\r\n${trailer}\r\n`);
const framed = fc.oneof(
  { weight: 1, arbitrary: length.map((line) => `${line}\r\nabc`) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(coding, fc.array(chunk, { maxLength: 2 }), lastChunk)
      .map(([line, chunks, last]) => `${line}\r\n${chunks.join('')}${last}`),
  },
);

const interim = oneOf([''], ['\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n']);
const status = oneOf(['HTTP/1.1 200 OK'], ['HTTP/1.1 200', 'HTTP/1.0 200 OK', 'HTTP/1.1 204 No Content']);
const put = fc.constantFrom('', '\n', '\r', '\r\n', ' ', '\t', '\0', '0', '3', ',', ':', ';', 'x');
const change = fc.record({ at: fc.nat(), taken: fc.nat(2), put });
const answer = fc
  .tuple(interim, status, others, framed, fc.oneof(fc.constant([]), fc.array(change, { maxLength: 2 })))
  .map(([early, line, more, rest, changes]) => {
    let text = `${early}${line}\r\n${more}${rest}`;
    for (const { at, taken, put: mark } of changes) {
      const from = at % text.length;
      text = text.slice(0, from) + mark + text.slice(from + taken);
    }
    return text;
  });

/** Reads an answer, in pieces, to the end of its connection. Absent if it is refused. */
function read(pieces: readonly string[]) {
  const found: { status?: number; body: string; isWhole: boolean; isReusable?: boolean } = {
    body: '',
    isWhole: false,
  };
  let keepsAlive = false;
  const parser = new ResponseParser({
    head: (head: ResponseHead) => {
      found.status = head.status;
      keepsAlive = head.keepsAlive;
    },
    body: (bytes, start, end) => {
      found.body += bytes.toString('latin1', start, end);
    },
    end: (isAlone) => {
      found.isWhole = true;
      found.isReusable = keepsAlive && isAlone;
    },
  });
  try {
    for (const piece of pieces) {
      const bytes = Buffer.from(piece, 'latin1');
      parser.push(bytes, bytes.length);
    }
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ProtocolError);
    return undefined;
  }
  parser.close();
  return found;
}

describe('an odd answer', () => {
  let server: Server;
  let written = Buffer.alloc(0);
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(written));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  /** What Node's own client reads, or the code of the error with which it refuses. */
  function askNode(text: string): Promise<{ status?: number; body?: string; refusal?: string }> {
    written = Buffer.from(text, 'latin1');
    const { port } = server.address() as { port: number };
    return new Promise((resolve) => {
      const refuse = ({ code, message }: NodeJS.ErrnoException) => resolve({ refusal: code ?? message });
      const asked = request({ host: '127.0.0.1', port, method: 'POST', agent: false });
      asked.on('error', refuse);
      asked.on('response', (message: IncomingMessage) => {
        let body = '';
        message.setEncoding('latin1');
        message.on('error', refuse);
        message.on('data', (piece: string) => {
          body += piece;
        });
        message.on('end', () => resolve({ status: message.statusCode ?? 0, body }));
      });
      asked.end('{}');
    });
  }

  it('is read the same from any split of its bytes', () => {
    fc.assert(
      fc.property(answer, fc.array(fc.nat(), { maxLength: 6 }), (text, places) => {
        const whole = read([text]);
        // What comes behind an answer may be refused if it is a piece of its own.
        fc.pre(!whole?.isWhole || whole.isReusable === true);
        const cuts = places.map((place) => place % (text.length + 1)).sort((a, b) => a - b);
        const pieces = [...cuts, text.length].map((end, index) => text.slice(cuts[index - 1] ?? 0, end));
        expect(read(pieces)).toEqual(whole);
      }),
      { numRuns: 5_000 },
    );
  });

  it("ends where it ends for Node's own client, if its connection is to be used again", async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(answer, async (text) => {
        const found = read([text]);
        if (!found?.isReusable) return;
        const heard = await askNode(text);
        // Node refuses more, which confuses nobody.
        if (heard.refusal?.startsWith('HPE_')) return;
        compared += 1;
        expect(heard).toEqual({ status: found.status, body: found.body });
      }),
      { numRuns: 5_000 },
    );
    expect(compared).toBeGreaterThan(100);
  });
});
