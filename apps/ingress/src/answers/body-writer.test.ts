import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import type { ResponseWriter } from '@sluice/http';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BodyWriter } from './body-writer.ts';
import { openTestServer, plainRequest, type TestServer, ways } from './test-server.ts';

let server: TestServer;
let answer: (response: ResponseWriter) => void;
const agent = new Agent({ keepAlive: true });

async function read(): Promise<string> {
  const headers = { 'content-length': '2' };
  const asked = request({ method: 'POST', headers, port: server.port, host: '127.0.0.1', agent });
  asked.end('{}');
  const [message] = await once(asked, 'response');
  let text = '';
  message.setEncoding('utf8');
  for await (const piece of message) text += piece;
  return text;
}

/** A client that reads nothing yet, and the response to write to. */
async function askWithoutReading() {
  const answered = new Promise<ResponseWriter>((resolve) => {
    answer = resolve;
  });
  const socket = connect(server.port, '127.0.0.1');
  socket.pause();
  socket.write(plainRequest);
  return { socket, response: await answered };
}

describe.each(ways)('BodyWriter, over %s', (way) => {
  beforeEach(async () => {
    server = await openTestServer(way, (response) => answer(response));
  });
  afterEach(() => server.close());

  it('delivers pieces of any size, whole and in order, for several answers on one connection', async () => {
    const piece = fc.oneof(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.integer({ min: 4_000, max: 100_000 }).map((length) => 'é'.repeat(length)),
    );
    const turns = fc.array(fc.record({ text: piece, waits: fc.boolean() }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(turns, async (pieces) => {
        answer = async (response) => {
          response.writeHead(200, {});
          const body = new BodyWriter(response);
          for (const { text, waits } of pieces) {
            body.write(text);
            if (waits) await new Promise((resolve) => setImmediate(resolve));
          }
          response.end('the end');
        };
        expect(await read()).toBe(`${pieces.map(({ text }) => text).join('')}the end`);
      }),
      { numRuns: 60 },
    );
  });

  it('tells when a client stops reading, and when it reads again', async () => {
    const told: string[] = [];
    const { socket, response } = await askWithoutReading();
    const drained = new Promise<void>((resolve) => response.on('drain', resolve));
    response.on('drain', () => told.push('drain'));
    response.writeHead(200, {});
    const body = new BodyWriter(response);
    while (response.writableLength < 1_000_000) body.write('some text of a few bytes');
    expect(told).toEqual([]);
    socket.resume();
    await drained;
    expect(response.writableLength).toBe(0);
    socket.destroy();
  });

  it('counts what waits for a client in bytes, whatever its letters', async () => {
    const { socket, response } = await askWithoutReading();
    response.writeHead(200, {});
    const body = new BodyWriter(response);
    while (response.writableLength === 0) body.write('x'.repeat(4_000));
    const before = response.writableLength;
    const text = '\u6f22'.repeat(1_000);
    body.write(text);
    const framing = '\r\n\r\nbb8'.length;
    expect(response.writableLength - before).toBe(Buffer.byteLength(text) + framing);
    socket.destroy();
  });

  it('writes no chunks to a client of HTTP/1.0', async () => {
    answer = (response) => {
      response.writeHead(200, {});
      const body = new BodyWriter(response);
      body.write('one ');
      body.write('two');
      response.end();
    };
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.0\r\n\r\n');
    let text = '';
    socket.setEncoding('utf8');
    for await (const piece of socket) text += piece;
    expect(text.split('\r\n\r\n')[1]).toBe('one two');
  });
});
