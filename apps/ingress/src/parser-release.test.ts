import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { until } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { releaseParser } from './parser-release.ts';

let server: Server;
let client: Socket;
let received: string;

/** Asks for an answer and gives back the server's end of it, as yet unanswered. */
async function ask(): Promise<ServerResponse> {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  client = connect(address.port, '127.0.0.1');
  received = '';
  client.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  client.on('error', () => undefined);
  client.write('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 2\r\n\r\n{}');
  const [request, response] = await once(server, 'request');
  await once(request.resume(), 'end');
  return response;
}

const hasParser = ({ req }: ServerResponse): boolean => Boolean(Reflect.get(req.socket, 'parser'));

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  client.destroy();
  server.close();
});

describe('an answer whose parser was released', () => {
  it('goes on, ends as HTTP says it must, and takes its connection along', async () => {
    const response = await ask();
    response.write('one ');
    expect(hasParser(response)).toBe(true);
    releaseParser(server, response);
    expect(hasParser(response)).toBe(false);
    response.write('two ');
    response.end('three');
    await once(client, 'end');
    expect(received).toContain('4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n');
  });

  it('says that the connection will close while it still can', async () => {
    const response = await ask();
    releaseParser(server, response);
    response.end('all');
    await once(client, 'end');
    expect(received.toLowerCase()).toContain('connection: close');
  });

  it('is closed when its client leaves', async () => {
    const response = await ask();
    response.write('one');
    releaseParser(server, response);
    const closed = once(response, 'close');
    client.destroy();
    await closed;
    expect(response.writableFinished).toBe(false);
  });

  it('is closed when its client will send nothing more, as it is with a parser', async () => {
    const response = await ask();
    response.write('one');
    releaseParser(server, response);
    const closed = once(response, 'close');
    client.end();
    await closed;
  });

  it('still tells when its buffer was taken', async () => {
    const response = await ask();
    response.write('one');
    releaseParser(server, response);
    await until(() => received.includes('one'));
    client.pause();
    const much = 'x'.repeat(1 << 20);
    while (response.writableLength < 8 * much.length) response.write(much);
    const drained = once(response, 'drain');
    client.resume();
    await drained;
  });

  it('still tells when its time-out has passed', async () => {
    const response = await ask();
    response.write('one');
    releaseParser(server, response);
    const timedOut = once(response, 'timeout');
    response.setTimeout(1);
    await timedOut;
  });

  it('leaves it to others to be upgraded', async () => {
    const response = await ask();
    releaseParser(server, response);
    expect(server.listenerCount('upgrade')).toBe(0);
  });
});

it('a parser that still reads its request is kept', async () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  client = connect(address.port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 2\r\n\r\n{');
  const [, response] = await once(server, 'request');
  releaseParser(server, response);
  expect(hasParser(response)).toBe(true);
});
