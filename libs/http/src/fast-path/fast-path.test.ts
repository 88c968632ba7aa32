import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FastPath, openFastPath } from './fast-path.ts';
import type { FastResponse } from './fast-response.ts';

const keepAliveMs = 5_000;
const idleLimitMs = 9_000;
const bodyLimitBytes = 60_000;

let server: Server;
let fastPath: FastPath;
let isClosing: boolean;
let handedOver: number;
/** The requests that were handled, in order. */
let asked: string[];
/** Responses that the test answers later. */
let held: FastResponse[] | undefined;
/** The server's ends of the connections. */
let connections: Socket[];
let client: Client;

/** A client's end of a connection. */
class Client {
  readonly socket: Socket;
  received = '';
  isClosed = false;

  constructor() {
    const { port } = server.address() as { port: number };
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    this.socket.setEncoding('utf8');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('error', () => undefined);
    this.socket.on('end', () => {
      this.isClosed = true;
    });
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** The bodies of the answers, which are one line each. */
  get bodies(): string[] {
    return this.received.match(/^(?:fast|node) .*$/gm) ?? [];
  }

  send(text: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => resolve()));
  }
}

const post = (body: string, more = '', path = '/fast') =>
  `POST ${path} HTTP/1.1\r\nhost: test\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

function reply(response: FastResponse, text: string): void {
  const body = `${text}\n`;
  response.writeHead(200, { 'content-length': String(Buffer.byteLength(body)) });
  response.end(body);
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  isClosing = false;
  handedOver = 0;
  asked = [];
  held = undefined;
  server = createServer(async (request, response) => {
    let bytes = 0;
    try {
      for await (const chunk of request) bytes += chunk.length;
    } catch {
      // Its client has left it in the middle.
      return;
    }
    asked.push(`node ${request.method} ${bytes}`);
    response.end(`node ${request.method} ${bytes}\n`);
  });
  fastPath = openFastPath(server, {
    ...{ keepAliveMs, idleLimitMs, quietMs: 1, bodyLimitBytes },
    isClosing: () => isClosing,
    route: (path) =>
      path !== '/fast'
        ? undefined
        : (_head, body, response) => {
            asked.push(`fast ${body}`);
            if (held) held.push(response);
            else reply(response, `fast ${body}`);
          },
    now: () => Date.parse('2026-11-21T10:00:00.500Z'),
    onHandOver: () => {
      handedOver += 1;
    },
  });
  connections = [];
  server.on('connection', (socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = new Client();
  await once(client.socket, 'connect');
});
afterEach(() => {
  client.socket.destroy();
  fastPath.cut();
  server.closeAllConnections();
  server.close();
  vi.useRealTimers();
});

const look = (times: number): void => {
  vi.advanceTimersByTime(times * 1_000);
};

describe('a plain request', () => {
  it('gets an answer that is valid HTTP', async () => {
    await client.send(post('a'));
    await until(() => client.bodies.length === 1);
    expect(client.received).toBe(
      'HTTP/1.1 200 OK\r\ncontent-length: 7\r\ndate: Sat, 21 Nov 2026 10:00:00 GMT\r\n' +
        'connection: keep-alive\r\nkeep-alive: timeout=5\r\n\r\nfast a\n',
    );
    expect(handedOver).toBe(0);
  });

  it('may come in pieces, as long as its head is in the first one', async () => {
    const text = post('abc');
    await client.send(text.slice(0, -3));
    for (const letter of 'abc') await client.send(letter);
    await until(() => client.bodies.length === 1);
    expect(asked).toEqual(['fast abc']);
  });

  it('may follow another one on the same connection', async () => {
    for (const body of ['a', 'b', 'é']) {
      await client.send(post(body));
      await until(() => client.bodies.at(-1) === `fast ${body}`);
    }
    expect(handedOver).toBe(0);
  });

  it('waits behind the one before it', async () => {
    held = [];
    await client.send(post('a') + post('b') + post('c').slice(0, -1));
    await until(() => asked.length === 1);
    await client.send('c');
    for (const body of ['a', 'b', 'c']) {
      const [response] = held.splice(0);
      if (response) reply(response, `fast ${body}`);
      await until(() => client.bodies.at(-1) === `fast ${body}`);
    }
    expect(asked).toEqual(['fast a', 'fast b', 'fast c']);
  });

  it('stays in the kernel when a client sends ahead without end', async () => {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    // More than our buffer and the kernel's hold.
    const ahead = post('x'.repeat(1_000)).repeat(20_000);
    const isThrough = client.send(ahead);
    const [first] = held;
    await until(() => first?.socket.isPaused() === true);
    expect(first?.socket.bytesRead).toBeLessThan(ahead.length / 2);
    held = undefined;
    if (first) reply(first, 'fast a');
    await until(() => asked.length === 20_001, { what: 'the last answer' });
    await isThrough;
  });

  it('takes hardly more memory than its bytes when it comes byte by byte', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const ahead = Buffer.from(post('b'.repeat(50_000)));
    collect();
    const before = process.memoryUsage().heapUsed;
    // As the socket hands them on when each comes in a packet of its own.
    for (const byte of ahead) connections[0]?.emit('data', Buffer.from(Uint8Array.of(byte).buffer));
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(1_000_000);
    const [first] = held;
    held = undefined;
    if (first) reply(first, 'fast a');
    await until(() => asked.at(-1) === `fast ${'b'.repeat(50_000)}`);
  });
});

describe('an answer', () => {
  /** The body of the answer that `write` writes, in its framing. */
  async function answerOf(write: (response: FastResponse) => void): Promise<string> {
    held = [];
    await client.send(post('a'));
    await until(() => held?.length === 1);
    const [response] = held;
    if (!response) throw new Error('no request came');
    write(response);
    held = undefined;
    await client.send(post('next'));
    await until(() => client.bodies.at(-1) === 'fast next');
    const body = client.received.slice(client.received.indexOf('\r\n\r\n') + 4);
    return body.slice(0, body.indexOf('HTTP/1.1'));
  }

  it('without a length comes in chunks, the last with the end', async () => {
    const pieces: string[] = [];
    const text = await answerOf((response) => {
      const real = response.socket.write.bind(response.socket);
      vi.spyOn(response.socket, 'write').mockImplementation((piece, ...more) => {
        pieces.push(String(piece));
        return Reflect.apply(real, undefined, [piece, ...more]);
      });
      response.writeHead(200, {});
      response.write('one');
      response.write('');
      response.end('zwölf');
      response.end('more');
      response.write('more');
    });
    expect(text).toBe('3\r\none\r\n6\r\nzwölf\r\n0\r\n\r\n');
    expect(pieces[1]).toBe('6\r\nzwölf\r\n0\r\n\r\n');
  });

  it('without a length may be empty', async () => {
    const text = await answerOf((response) => {
      response.writeHead(200, {});
      response.end();
    });
    expect(text).toBe('0\r\n\r\n');
  });

  it('with a length comes as it is, in any number of pieces', async () => {
    const text = await answerOf((response) => {
      response.writeHead(200, { 'content-length': '9' });
      response.write('one');
      response.end('zwölf');
    });
    expect(text).toBe('onezwölf');
  });
});

describe('a request that is whole late', () => {
  it('is read on after a pause for too many waiting bytes', async () => {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const [first] = held;
    held = undefined;
    await client.send(post('b'.repeat(50_000)) + post('c'.repeat(50_000)).slice(0, -1));
    await until(() => first?.socket.isPaused() === true);
    if (first) reply(first, 'fast a');
    await until(() => asked.length === 2);
    await client.send('c');
    await until(() => asked.length === 3);
    expect(handedOver).toBe(0);
  });
});

describe("everything else is the server's own", () => {
  it.each([
    ['another method', 'GET /fast HTTP/1.1\r\nhost: test\r\n\r\n', 'node GET 0'],
    ['another path', post('abc', '', '/other'), 'node POST 3'],
    ['no body', 'POST /fast HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n', 'node POST 0'],
    [
      'chunks',
      'POST /fast HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'node POST 3',
    ],
    ['a connection that closes', post('abc', 'connection: close\r\n'), 'node POST 3'],
    ['a request that is long', post('x'.repeat(59_000), `x: ${'y'.repeat(8_000)}\r\n`), 'node POST 59000'],
    ['a body over the limit', post('x'.repeat(bodyLimitBytes + 1)), `node POST ${bodyLimitBytes + 1}`],
  ])('%s', async (_what, text, answer) => {
    await client.send(text);
    await until(() => client.bodies.length === 1);
    expect([client.bodies, handedOver]).toEqual([[answer], 1]);
  });

  it('a head in pieces, cut anywhere', async () => {
    const text = post('abc');
    for (let cut = 1; cut < text.indexOf('\r\n\r\n') + 4; cut += 1) {
      const another = new Client();
      await another.send(text.slice(0, cut));
      await until(() => handedOver === cut);
      await another.send(text.slice(cut));
      await until(() => another.bodies.length === 1);
      expect(another.bodies).toEqual(['node POST 3']);
      another.socket.destroy();
    }
  });

  it('bytes that are not HTTP, which it refuses', async () => {
    await client.send('GARBAGE\r\n\r\n');
    await until(() => client.isClosed);
    expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('all later requests of the connection, even plain ones', async () => {
    await client.send('GET /fast HTTP/1.1\r\nhost: test\r\n\r\n');
    await until(() => client.bodies.length === 1);
    await client.send(post('a'));
    await until(() => client.bodies.length === 2);
    expect(asked).toEqual(['node GET 0', 'node POST 1']);
  });

  it('behind a plain request, in the order of both', async () => {
    held = [];
    await client.send(`${post('a')}GET /fast HTTP/1.1\r\nhost: test\r\n\r\n`);
    await until(() => asked.length === 1);
    expect(asked).toEqual(['fast a']);
    const [response] = held;
    if (response) reply(response, 'fast a');
    await until(() => client.bodies.length === 2);
    expect(client.bodies).toEqual(['fast a', 'node GET 0']);
  });

  it('a request that arrives too slowly, with every byte of it', async () => {
    await client.send(post('abc').slice(0, -2));
    await until(() => (connections[0]?.bytesRead ?? 0) > 0);
    await until(() => {
      look(1);
      return handedOver === 1;
    });
    await client.send('bc');
    await until(() => client.bodies.length === 1);
    expect(client.bodies).toEqual(['node POST 3']);
  });

  it('a request that trickles in, however steadily', async () => {
    await client.send(post('a'));
    await until(() => asked.length === 1);
    look(4);
    await client.send(post('abcd').slice(0, -3));
    await until(() => connections[0]?.bytesRead === post('a').length + post('a').length);
    look(1);
    expect(handedOver).toBe(0);
    await client.send('b');
    await until(() => connections[0]?.bytesRead === post('a').length + post('ab').length);
    look(1);
    expect(handedOver).toBe(1);
    await client.send('cd');
    await until(() => client.bodies.length === 2);
    expect(client.bodies).toEqual(['fast a', 'node POST 4']);
  });

  it('a request that its client leaves in the middle, which it refuses', async () => {
    client.socket.end(post('abc').slice(0, -1));
    await until(() => client.isClosed);
    expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
    expect(handedOver).toBe(1);
  });

  it('a connection on which nothing comes', async () => {
    await until(() => {
      look(1);
      return handedOver === 1;
    });
    await client.send(post('abc'));
    await until(() => client.bodies.length === 1);
    expect(client.bodies).toEqual(['node POST 3']);
  });
});

describe('a connection', () => {
  it('is kept for the next request longer than promised, but not for ever', async () => {
    await client.send(post('a'));
    await until(() => client.bodies.length === 1);
    look(9);
    await client.send(post('b'));
    await until(() => client.bodies.length === 2);
    look(10);
    await until(() => client.isClosed);
    expect(handedOver).toBe(0);
  });

  it('is kept while it is answered, however long that takes', async () => {
    for (const count of [1, 2]) {
      held = [];
      await client.send(post('a'));
      await until(() => asked.length === count);
      look(100);
      const [response] = held;
      if (response) reply(response, 'fast a');
      await until(() => client.bodies.length === count);
    }
    expect([client.isClosed, handedOver]).toEqual([false, 0]);
  });

  it.each([
    ['leaves', (socket: Socket) => void socket.destroy()],
    ['says that it will say no more', (socket: Socket) => void socket.end()],
  ])('tells of a client that %s', async (_what, leave) => {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const [response] = held;
    const closed = new Promise<void>((resolve) => response?.on('close', resolve));
    leave(client.socket);
    await closed;
    expect([response?.destroyed, response?.writableFinished]).toEqual([true, false]);
  });

  it('tells of a client that leaves before it has all of its answer', async () => {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const [response] = held;
    const closed = new Promise<void>((resolve) => response?.on('close', resolve));
    client.socket.pause();
    if (response) reply(response, 'x'.repeat(20_000_000));
    client.socket.destroy();
    await closed;
    expect(response?.writableFinished).toBe(false);
  });

  it('tells of an answer that was cut before the client had it all, and answers nothing behind it', async () => {
    held = [];
    await client.send(post('a') + post('b'));
    await until(() => asked.length === 1);
    const [response] = held;
    const closed = new Promise<void>((resolve) => response?.on('close', resolve));
    client.socket.pause();
    if (response) reply(response, 'x'.repeat(20_000_000));
    response?.destroy();
    await closed;
    expect([response?.writableFinished, asked]).toEqual([false, ['fast a']]);
  });

  it('drops the stall limit of an answer when that has ended', async () => {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const [response] = held;
    response?.setTimeout(60_000);
    if (response) reply(response, 'fast a');
    await until(() => client.bodies.length === 1);
    expect(connections[0]?.timeout).toBe(0);
  });

  it('tells once that an answer is over', async () => {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const [response] = held;
    let closed = 0;
    response?.on('close', () => {
      closed += 1;
    });
    if (response) reply(response, 'fast a');
    await until(() => closed === 1);
    expect(response?.writableFinished).toBe(true);
    client.socket.destroy();
    await until(() => connections[0]?.closed === true);
    expect(closed).toBe(1);
  });
});

describe('a server that closes', () => {
  it('cuts idle connections, and lets answers end', async () => {
    await client.send(post('a'));
    await until(() => client.bodies.length === 1);
    held = [];
    const busy = new Client();
    await busy.send(post('b'));
    await until(() => asked.length === 2);
    isClosing = true;
    fastPath.retire();
    await until(() => client.isClosed);
    const [response] = held;
    if (response) reply(response, 'fast b');
    await until(() => busy.isClosed);
    expect(busy.received).toContain('connection: close\r\n');
    expect(busy.bodies).toEqual(['fast b']);
  });

  it('answers requests that have begun to arrive, and no others', async () => {
    await client.send(post('abc').slice(0, -1));
    await until(() => (connections[0]?.bytesRead ?? 0) > 0);
    held = [];
    const busy = new Client();
    await busy.send(post('a') + post('b'));
    await until(() => asked.length === 1);
    isClosing = true;
    fastPath.retire();
    const [response] = held;
    held = undefined;
    await client.send('c');
    await until(() => client.isClosed);
    expect(client.bodies).toEqual(['fast abc']);
    if (response) reply(response, 'fast a');
    await until(() => busy.isClosed);
    expect(busy.bodies).toEqual(['fast a']);
  });

  it('takes no new connection', async () => {
    isClosing = true;
    const late = new Client();
    await until(() => late.isClosed);
  });
});

describe('a response', () => {
  async function open(): Promise<FastResponse> {
    held = [];
    await client.send(post('a'));
    await until(() => asked.length === 1);
    const [response] = held;
    if (!response) throw new TypeError('a request has a response');
    return response;
  }

  it.each(['a\r\nb: c', 'a\nb', 'a\0', 'é'])('has no header with %j', async (value) => {
    const response = await open();
    expect(() => response.writeHead(200, { x: value })).toThrow(TypeError);
    expect(response.headersSent).toBe(false);
  });

  it('has one head, and nothing before it', async () => {
    const response = await open();
    expect(() => response.write('a')).toThrow(TypeError);
    expect(() => response.end('a')).toThrow(TypeError);
    response.writeHead(429, {});
    expect(() => response.writeHead(200, {})).toThrow(TypeError);
    expect(response.statusCode).toBe(429);
  });

  it('is finished as soon as the kernel has taken all of it', async () => {
    const response = await open();
    reply(response, 'fast a');
    expect(response.writableFinished).toBe(true);
  });

  it('is finished when it is over, if the kernel does not take all of it at once', async () => {
    const response = await open();
    const closed = new Promise<void>((resolve) => response.on('close', resolve));
    client.socket.pause();
    reply(response, 'x'.repeat(20_000_000));
    expect(response.writableFinished).toBe(false);
    client.socket.resume();
    await closed;
    expect(response.writableFinished).toBe(true);
  });

  it('is chunked if its length is not known, and takes nothing after its end', async () => {
    const response = await open();
    response.writeHead(200, {});
    response.write('é');
    response.write('');
    response.end('b');
    response.end('c');
    response.write('d');
    await until(() => client.received.endsWith('0\r\n\r\n'));
    expect(client.received).toContain('\r\ntransfer-encoding: chunked\r\n');
    expect(client.received.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe('2\r\né\r\n1\r\nb\r\n0\r\n\r\n');
  });
});
