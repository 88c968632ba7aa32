import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestHeadReader } from './request-head.ts';

const plain = {
  line: 'POST /v1/chat/completions HTTP/1.1',
  headers: ['Host: gateway', 'Content-Type: application/json', 'Content-Length: 2'],
};

const bytesOf = (line: string, headers: readonly string[], body = '{}') =>
  Buffer.from([line, ...headers, '', body].join('\r\n'), 'latin1');
/** What is read on a new connection. */
const readRequestHead = (bytes: Buffer) => new RequestHeadReader().read(bytes);
const read = (changes: Partial<typeof plain> & { body?: string } = {}) =>
  readRequestHead(bytesOf(changes.line ?? plain.line, changes.headers ?? plain.headers, changes.body));

const letters = fc.constantFrom(...'aZ09-_:/. \t,;=?&%+~\r\n\0\x7f\xa0\xe9"{}'.split(''));
const text = fc.string({ unit: letters, maxLength: 8 });
const names = fc.constantFrom(
  ...[
    'host',
    'Content-Length',
    'transfer-encoding',
    'connection',
    'proxy-connection',
    'x-a',
    'X-A',
    'cookie',
    'te',
    'authorization',
  ],
);
const values = fc.constantFrom('2', '1', '02', 'keep-alive', 'close', 'chunked', 'a', 'a, b', '');
const header = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(names, values).map(([name, value]) => `${name}: ${value}`) },
  { weight: 1, arbitrary: fc.tuple(names, text).map(([name, value]) => `${name}:${value}`) },
  { weight: 1, arbitrary: text },
);

/** Short ones, each with a name of its own. */
const manyHeaders = (count: number) => Array.from({ length: count }, (_, index) => `${index.toString(36)}:`);

describe('a plain request', () => {
  it('is read whole', () => {
    const bytes = bytesOf(plain.line, plain.headers);
    expect(readRequestHead(bytes)).toEqual({
      url: '/v1/chat/completions',
      path: '/v1/chat/completions',
      headers: { host: 'gateway', 'content-type': 'application/json' },
      length: bytes.length - 2,
      contentLength: 2,
    });
  });

  it.each([
    ['a query', { line: 'POST /v1beta/models/sim:streamGenerateContent?alt=sse HTTP/1.1' }],
    ['a connection that stays open', { headers: [...plain.headers, 'Connection: Keep-Alive'] }],
    ['space around values', { headers: ['host:gateway', 'x:  a b \t', 'content-length: 2'] }],
    ['an empty value', { headers: [...plain.headers, 'x-empty:'] }],
    ['a value of blanks', { headers: [...plain.headers, 'x-empty: \t '] }],
    ['a body that is still to come', { body: '' }],
    ['the next request behind it', { body: '{}POST / HTTP/1.1' }],
    ['as many headers as Node takes', { headers: [...plain.headers, ...manyHeaders(997)] }],
  ])('may have %s', (_what, changes) => {
    expect(read(changes)).toBeDefined();
  });

  it.each<[string, Parameters<typeof read>[0]]>([
    ['another method', { line: 'PUT / HTTP/1.1' }],
    ['a method in small letters', { line: 'post / HTTP/1.1' }],
    ['another version', { line: 'POST / HTTP/1.0' }],
    ['an absolute address', { line: 'POST http://gateway/ HTTP/1.1' }],
    ['an escape in its path', { line: 'POST /%41 HTTP/1.1' }],
    ['an escape in its query', { line: 'POST /?key=%41 HTTP/1.1' }],
    ['a space too many', { line: 'POST  / HTTP/1.1' }],
    ['no host', { headers: ['content-length: 2'] }],
    ['no length', { headers: ['host: gateway'] }],
    ['a length of 0', { headers: ['host: gateway', 'content-length: 0'] }],
    ['a length with a sign', { headers: ['host: gateway', 'content-length: +2'] }],
    ['a length in another notation', { headers: ['host: gateway', 'content-length: 0x2'] }],
    ['two lengths in one', { headers: ['host: gateway', 'content-length: 2, 2'] }],
    ['a header twice', { headers: [...plain.headers, 'content-length: 2'] }],
    ['a header twice in other letters', { headers: [...plain.headers, 'HOST: other'] }],
    ['chunks', { headers: [...plain.headers, 'Transfer-Encoding: chunked'] }],
    ['chunks, badly hidden', { headers: [...plain.headers, 'transfer-encoding: x'] }],
    ['something to expect', { headers: [...plain.headers, 'expect: 100-continue'] }],
    ['something to become', { headers: [...plain.headers, 'upgrade: websocket'] }],
    ['a connection that closes', { headers: [...plain.headers, 'connection: close'] }],
    [
      'a connection that closes, as proxies say it',
      { headers: [...plain.headers, 'Proxy-Connection: close'] },
    ],
    ['a connection with more to say', { headers: [...plain.headers, 'connection: keep-alive, te'] }],
    ['a line that goes on', { headers: [...plain.headers, 'x: a', ' b'] }],
    ['space before the colon', { headers: [...plain.headers, 'x : a'] }],
    ['no colon', { headers: [...plain.headers, 'x'] }],
    ['no name', { headers: [...plain.headers, ': a'] }],
    ['a bare line feed', { headers: [...plain.headers, 'x: a\nb: c'] }],
    ['a bare carriage return', { headers: [...plain.headers, 'x: a\rb'] }],
    ['a letter beyond ASCII', { headers: [...plain.headers, 'x: \xe9'] }],
    ['a control character', { headers: [...plain.headers, 'x: a\0'] }],
    ['a name that objects have', { headers: [...plain.headers, '__proto__: a'] }],
    ['a name that objects inherit', { headers: [...plain.headers, 'constructor: a'] }],
    ['more headers than Node takes', { headers: [...plain.headers, ...manyHeaders(998)] }],
    ['too much to say', { headers: [...plain.headers, `x: ${'a'.repeat(17_000)}`] }],
  ])('is none with %s', (_what, changes) => {
    expect(read(changes)).toBeUndefined();
  });

  it('is not read before its head is complete', () => {
    const bytes = bytesOf(plain.line, plain.headers);
    for (let end = 0; end < bytes.length - 2; end += 1) {
      expect(readRequestHead(bytes.subarray(0, end))).toBeUndefined();
    }
  });
});

describe('a head after another one', () => {
  it('that differs in the length of the body alone shares its headers', () => {
    const reader = new RequestHeadReader();
    const [first, second] = ['2', '1234'].map((length) =>
      reader.read(bytesOf(plain.line, [...plain.headers.slice(0, -1), `Content-Length: ${length}`, 'x: a'])),
    );
    expect(first?.contentLength).toBe(2);
    expect(second).toEqual({ ...first, contentLength: 1234, length: (first?.length ?? 0) + 3 });
    expect(second?.headers).toBe(first?.headers);
  });

  it('is read as on a new connection, however much they have in common', () => {
    const change = fc.record({ at: fc.nat(), taken: fc.nat(2), put: text });
    const length = fc.constantFrom('2', '1', '10', '02', '+2', '2 ', '', '999999999', '1000000000');
    let shared = 0;
    fc.assert(
      fc.property(
        fc.array(header, { maxLength: 2 }),
        length,
        fc.array(change, { maxLength: 2 }),
        (more, newLength, changes) => {
          const first = bytesOf(plain.line, [...plain.headers, ...more]);
          let next = first.toString('latin1').replace('Length: 2', `Length: ${newLength}`);
          for (const { at, taken, put } of changes) {
            const from = at % next.length;
            next = next.slice(0, from) + put + next.slice(from + taken);
          }
          const reader = new RequestHeadReader();
          const known = reader.read(first);
          const found = reader.read(Buffer.from(next, 'latin1'));
          expect(found).toEqual(readRequestHead(Buffer.from(next, 'latin1')));
          if (known && found?.headers === known.headers) shared += 1;
        },
      ),
      { numRuns: 5_000 },
    );
    expect(shared).toBeGreaterThan(100);
  });
});

it('a malformed head with thousands of blanks takes no longer to read than another', () => {
  const blanks = `x:${' '.repeat(16_000)}\x01`;
  // One of them took 200 ms.
  for (let times = 0; times < 300; times += 1)
    expect(read({ headers: [...plain.headers, blanks] })).toBeUndefined();
});

describe("what is read here is what Node's own parser reads", () => {
  let server: Server;
  let heard: IncomingMessage[] = [];
  let staysOpen = false;
  let body = '';
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      heard.push(request);
      if (heard.length === 1) {
        staysOpen = response.shouldKeepAlive;
        for await (const chunk of request) body += chunk;
      }
      response.end();
    });
    server.on('clientError', (_error, socket) => socket.destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => server.close());

  const line = fc.oneof(
    { weight: 5, arbitrary: fc.constant(plain.line) },
    { weight: 2, arbitrary: text.map((rest) => `POST /${rest} HTTP/1.1`) },
    { weight: 1, arbitrary: text },
  );

  it('whatever the request', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(line, fc.array(header, { maxLength: 3 }), async (first, more) => {
        const bytes = bytesOf(first, [...plain.headers, ...more]);
        const head = readRequestHead(bytes);
        if (!head) return;
        accepted += 1;
        heard = [];
        body = '';
        const { port } = server.address() as { port: number };
        const socket = connect(port, '127.0.0.1');
        socket.end(bytes);
        socket.resume();
        socket.on('error', () => undefined);
        await once(socket, 'close');
        const [request] = heard;
        const { 'content-length': length, ...headers } = request?.headers ?? {};
        expect({ length, headers }).toEqual({ length: String(head.contentLength), headers: head.headers });
        expect(staysOpen).toBe(true);
        const end = head.length + head.contentLength;
        const wanted = ['POST', head.url, bytes.toString('utf8', head.length, end)];
        expect([request?.method, request?.url, body]).toEqual(wanted);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
