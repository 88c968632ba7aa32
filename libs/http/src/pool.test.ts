import dns from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, isIP, type Server as TcpServer } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Call, Connection, Failure } from './connection.ts';
import { originOf } from './origin.ts';
import { Pool } from './pool.ts';
import { beginRequest, completeRequest, type WireRequest } from './request.ts';
import type { ResponseHead } from './response-head.ts';

let server: Server;
let pool: Pool;
let now: number;
let sockets: number;
let held: ServerResponse[];
let crashes: number;
let crashAfterMs: number;
let arrived: () => void;

beforeEach(async () => {
  now = 100_000;
  sockets = 0;
  held = [];
  crashes = 0;
  arrived = () => undefined;
  server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    if (request.url === '/hold') {
      held.push(response);
      response.write('begun');
      arrived();
    } else if (request.url === '/short') {
      response.setHeader('keep-alive', 'timeout=2').end('answer');
    } else if (request.url === '/working') {
      response.writeProcessing();
      setImmediate(() => response.socket?.destroy());
    } else if (request.url === '/crash') {
      crashes += 1;
      now += crashAfterMs;
      response.socket?.destroy();
    } else if (request.url === '/echo') {
      request.pipe(response);
    } else response.end('answer');
  });
  server.on('connection', () => {
    sockets += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  pool = open(server, 3);
});
afterEach(() => {
  pool.close();
  server.closeAllConnections();
  server.close();
});

function open(listening: Server | TcpServer, maxConnections: number, host = 'http://127.0.0.1'): Pool {
  // Safe to cast: a listening TCP server has an address with a port.
  const { port } = listening.address() as AddressInfo;
  const origin = originOf(new URL(`${host}:${port}`));
  return new Pool({ origin, maxConnections, connectTimeoutMs: 10_000, now: () => now });
}

/** One request and what became of it. */
class Asked implements Call {
  readonly request: WireRequest;
  readonly readBytesPerSecond: number | undefined;
  connection: Connection | undefined;
  status: number | undefined;
  wantsNoMore = false;
  text = '';
  private readonly decoder = new StringDecoder('utf8');
  failure: Failure | undefined;
  code: string | undefined;
  readonly over: Promise<string | Failure>;
  private tell: (outcome: string) => void = () => undefined;

  constructor(path: string, body: string, readBytesPerSecond?: number) {
    const head = beginRequest({ path, authority: 'test', headers: {} });
    this.request = completeRequest(head, body);
    this.readBytesPerSecond = readBytesPerSecond;
    this.over = new Promise((resolve) => {
      this.tell = resolve;
    });
  }

  head(head: ResponseHead): void {
    this.status = head.status;
  }
  body(bytes: Buffer, start: number, end: number): void {
    this.text += this.decoder.write(bytes.subarray(start, end));
  }
  end(): void {
    this.tell(this.text);
  }
  fail(failure: Failure, code?: string): void {
    this.failure = failure;
    this.code = code;
    this.tell(failure);
  }
}

function ask(path: string, body = 'x'): Asked {
  const call = new Asked(path, body);
  pool.send(call);
  return call;
}

/** Resolves with the whole body, or with the word for what went wrong. */
const get = (path: string): Promise<string> => ask(path).over;

/** Resolves when the server holds this many connections. */
async function holds(count: number): Promise<void> {
  while (held.length < count) {
    await new Promise<void>((resolve) => {
      arrived = resolve;
    });
  }
}

describe('a pool', () => {
  it('reuses a connection instead of opening another', async () => {
    for (let call = 0; call < 20; call++) {
      expect(await get('/')).toBe('answer');
    }
    expect(sockets).toBe(1);
  });

  it.each([10, 5_000, 30_000, 2_000_000])(
    'sends a body of %i signs and goes on with the next',
    async (length) => {
      const body = 'signs → ü '.repeat(length / 10);
      const echoes = [
        await ask('/echo', body).over,
        await ask('/echo', 'x').over,
        await ask('/echo', body).over,
      ];
      expect(echoes.map((echo) => echo.length)).toEqual([length, 1, length]);
      expect(echoes).toEqual([body, 'x', body]);
      expect(sockets).toBe(1);
    },
  );

  it('finds a server by its name', async () => {
    pool = open(server, 1, 'http://localhost');
    expect([await get('/'), await get('/')]).toEqual(['answer', 'answer']);
    expect(sockets).toBe(1);
  });

  it('opens a connection for each concurrent answer, up to the limit', async () => {
    const answers = ['/hold', '/hold', '/hold', '/hold', '/'].map(get);
    await holds(3);
    expect(sockets).toBe(3);
    held[0]?.end();
    expect(await answers[0]).toBe('begun');
    await holds(4);
    held[1]?.end();
    expect(await answers[4]).toBe('answer');
    for (const response of held) response.end();
    await Promise.all(answers);
    expect(sockets).toBe(3);
  });

  it('closes the connection of a call that has all that it wants when another one needs the place', async () => {
    pool = open(server, 1);
    const content = ask('/hold');
    await holds(1);
    const next = get('/');
    content.wantsNoMore = true;
    const last = get('/');
    expect(await Promise.all([content.over, next, last])).toEqual(['closed', 'answer', 'answer']);
  });

  it('continues after connections that were cut', async () => {
    const cut = get('/hold');
    await holds(1);
    held[0]?.destroy();
    expect(await cut).toBe('reset');
    expect(await Promise.all(['/', '/', '/', '/', '/', '/'].map(get))).toEqual(Array(6).fill('answer'));
  });

  it('keeps its idle connections when a busy one is cut', async () => {
    const cut = get('/hold');
    await holds(1);
    expect(await get('/')).toBe('answer');
    held[0]?.destroy();
    expect(await cut).toBe('reset');
    expect(await get('/')).toBe('answer');
    expect(sockets).toBe(2);
  });

  it('continues when the server is back', async () => {
    const { port } = server.address() as AddressInfo;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    const refused = ['/', '/', '/', '/', '/'].map((path) => ask(path));
    expect(await Promise.all(refused.map(({ over }) => over))).toEqual(Array(5).fill('connect'));
    expect(refused.map(({ code }) => code)).toEqual(Array(5).fill('ECONNREFUSED'));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    expect(await Promise.all(['/', '/', '/', '/', '/'].map(get))).toEqual(Array(5).fill('answer'));
  });

  it('tells how long each connection took to open, once', async () => {
    const { port } = server.address() as AddressInfo;
    const origin = originOf(new URL(`http://127.0.0.1:${port}`));
    const took: number[] = [];
    let at = 0;
    // Each look at the clock is a millisecond later.
    const clock = () => at++;
    const onConnected = (ms: number) => void took.push(ms);
    pool = new Pool({ origin, maxConnections: 1, connectTimeoutMs: 10_000, now: clock, onConnected });
    expect([await get('/'), await get('/')]).toEqual(['answer', 'answer']);
    expect(took).toEqual([expect.any(Number)]);
    expect(took[0]).toBeGreaterThan(0);
  });

  it('does not blame the server for a connection that we were too late to see', async () => {
    const { port } = server.address() as AddressInfo;
    const origin = originOf(new URL(`http://127.0.0.1:${port}`));
    pool = new Pool({ origin, maxConnections: 1, connectTimeoutMs: 20, now: () => now });
    const answer = get('/');
    // The process stands still while the kernel connects.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
    expect(await answer).toBe('answer');
  });

  it('leaves none of several addresses because of our own stall, which is no answer of the server', async () => {
    const { port } = server.address() as AddressInfo;
    const resolve = (_host: string, _options: object, found: (error: null, addresses: object[]) => void) =>
      process.nextTick(() => {
        // The address where nobody listens comes second, as on a host without IPv6.
        found(
          null,
          ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) })),
        );
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      });
    // Of its overloads, this is the one that a socket calls.
    const lookup = vi.spyOn(dns, 'lookup').mockImplementation(resolve as typeof dns.lookup);
    const origin = originOf(new URL(`http://model.test:${port}`));
    pool = new Pool({ origin, maxConnections: 1, connectTimeoutMs: 30_000, now: () => now });
    expect(await get('/')).toBe('answer');
    lookup.mockRestore();
  });

  it('repeats a request that was lost with a connection that the server was just closing', async () => {
    expect(await get('/')).toBe('answer');
    server.closeAllConnections();
    expect(await get('/')).toBe('answer');
    expect(pool.repeated).toBe(1);
    expect(await get('/')).toBe('answer');
    expect(sockets).toBe(2);
  });

  it('repeats no request that a server has begun to work on', async () => {
    expect(await get('/')).toBe('answer');
    expect(await get('/working')).toBe('reset');
    expect(pool.repeated).toBe(0);
  });

  it.each([
    [999, 2],
    [1_000, 1],
  ])('sends a request whose connection is lost after %i ms of silence %i times', async (ms, times) => {
    crashAfterMs = ms;
    expect(await get('/')).toBe('answer');
    expect(await get('/crash')).toBe('reset');
    expect(crashes).toBe(times);
  });

  it('reuses no idle connection that the server may be closing, but its place', async () => {
    pool = open(server, 1);
    expect(await get('/')).toBe('answer');
    now += 3_999;
    expect(await get('/')).toBe('answer');
    expect(sockets).toBe(1);
    now += 4_000;
    expect(await get('/')).toBe('answer');
    expect(sockets).toBe(2);
  });

  it('believes the server how long it keeps a connection', async () => {
    expect(await get('/short')).toBe('answer');
    now += 999;
    expect(await get('/short')).toBe('answer');
    expect(sockets).toBe(1);
    now += 1_000;
    expect(await get('/short')).toBe('answer');
    expect(sockets).toBe(2);
  });

  it('closes connections that nobody needs any more', async () => {
    const connected = once(server, 'connection');
    expect(await get('/')).toBe('answer');
    const [socket] = await connected;
    now += 4_000;
    await once(socket, 'close');
  });

  it('gives up a call: its connection is closed, and the others still wait', async () => {
    const [left, ...others] = ['/hold', '/hold', '/hold'].map((path) => ask(path));
    const waiting = ask('/');
    const leaving = ask('/');
    await holds(3);
    pool.abort(leaving);
    if (left) pool.abort(left);
    expect(await waiting.over).toBe('answer');
    for (const response of held) response.end();
    expect(await Promise.all(others.map(({ over }) => over))).toEqual(['begun', 'begun']);
    expect([left?.text, leaving.text]).toEqual(['begun', '']);
    expect([left?.failure, leaving.failure]).toEqual([undefined, undefined]);
  });

  it('sends no call that was given up while it waited', async () => {
    pool = open(server, 1);
    ask('/hold');
    const [left, next] = [ask('/'), ask('/')];
    await holds(1);
    pool.abort(left);
    held[0]?.end();
    expect(await next.over).toBe('answer');
    expect(left.status).toBeUndefined();
  });

  it('keeps everybody else when a finished call is given up', async () => {
    pool = open(server, 1);
    const over = ask('/');
    await over.over;
    const [running, next] = [ask('/hold'), ask('/')];
    await holds(1);
    pool.abort(over);
    held[0]?.end();
    expect(await running.over).toBe('begun');
    expect(await next.over).toBe('answer');
  });

  it('tells everybody when it is closed', async () => {
    const answers = ['/hold', '/hold', '/hold', '/hold'].map(get);
    await holds(3);
    pool.close();
    expect(await Promise.all(answers)).toEqual(Array(4).fill('closed'));
    expect(await get('/')).toBe('closed');
    expect(pool.opened).toBe(3);
  });

  it('reads slowly for a slow reader, over a connection of its own', async () => {
    const slow = new Asked('/', 'x', 1_000_000);
    pool.send(slow);
    expect(await slow.over).toBe('answer');
    expect(await get('/')).toBe('answer');
    expect(sockets).toBe(2);
  });

  it('reads no more in a second than a slow reader does', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const slow = new Asked('/echo', 'x'.repeat(5_000), 1_000);
    pool.send(slow);
    let isOver = false;
    void slow.over.then(() => {
      isOver = true;
    });
    let passedMs = 0;
    for (; !isOver; passedMs += 100) {
      // Answered after all that the server has sent before.
      await get('/');
      vi.advanceTimersByTime(100);
    }
    vi.useRealTimers();
    expect(slow.text).toHaveLength(5_000);
    expect(passedMs).toBeGreaterThanOrEqual(4_000);
  });

  it('gives a slow reader that had to wait a connection of its own, which delays no later call', async () => {
    pool = open(server, 1);
    const first = ask('/hold');
    await holds(1);
    // On a connection that is used again, the next call would go unread for minutes.
    const slow = new Asked('/', 'x', 1);
    pool.send(slow);
    const next = ask('/');
    held[0]?.end();
    expect(await Promise.all([first, slow, next].map(({ over }) => over))).toEqual([
      'begun',
      'answer',
      'answer',
    ]);
    expect(sockets).toBe(3);
  });

  it('closes an idle connection for a slow reader if there is no room for another', async () => {
    pool = open(server, 1);
    expect(await get('/')).toBe('answer');
    const slow = new Asked('/', 'x', 1_000_000);
    pool.send(slow);
    expect(await slow.over).toBe('answer');
    expect(sockets).toBe(2);
  });
});

describe('a connection to a server that', () => {
  let raw: TcpServer;
  let connections: number;

  /** A server that writes the next of these answers for every piece that it reads. */
  async function serve(...answers: string[]): Promise<void> {
    connections = 0;
    raw = createTcpServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      socket.on('data', () => socket.write(answers.shift() ?? ''));
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    pool = open(raw, 1);
  }

  afterEach(() => {
    pool.close();
    raw?.close();
  });

  it('sends more than it was asked for is not reused, so that nobody gets another’s answer', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n';
    await serve(`${answer}a1${answer}b1`, `${answer}a2`);
    const [first, second] = [get('/'), get('/')];
    expect(await first).toBe('a1');
    expect(await second).toBe('a2');
    expect(connections).toBe(2);
  });

  it('writes an empty line behind an answer is reused, even if the line comes after the next request', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n';
    await serve(`${answer}a1`, `\r\n${answer}a2`);
    expect([await get('/'), await get('/'), connections]).toEqual(['a1', 'a2', 1]);
  });

  it('says that it closes is not reused, even before it does', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n';
    await serve(`${answer}a1`, `${answer}a2`);
    expect([await get('/'), await get('/'), connections]).toEqual(['a1', 'a2', 2]);
  });

  it('answers before it has read the request is not reused', async () => {
    connections = 0;
    raw = createTcpServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
      if (connections > 1) socket.resume();
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n');
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    pool = open(raw, 1);
    const [large, next] = [ask('/', 'x'.repeat(50_000_000)), ask('/')];
    await large.over;
    await next.over;
    expect([large.status, next.status, connections]).toEqual([413, 413, 2]);
  });

  it('says that it will say no more fails the request, even if it has not read it all', async () => {
    raw = createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.end();
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    pool = open(raw, 1);
    expect(await ask('/', 'x'.repeat(50_000_000)).over).toBe('reset');
  });

  it('does not speak HTTP fails the request', async () => {
    await serve('220 mail ready\r\n\r\n');
    expect(await get('/')).toBe('protocol');
  });

  it('stops speaking HTTP fails the request, which it may have worked on', async () => {
    await serve('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na', '220 mail ready\r\n\r\n');
    expect([await get('/'), await get('/')]).toEqual(['a', 'protocol']);
    expect(pool.repeated).toBe(0);
  });

  it('closes at the end of an answer without a length ends it; one that breaks off does not', async () => {
    connections = 0;
    raw = createTcpServer((socket) => {
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\n${connections++ ? 'content-length: 9\r\n' : ''}\r\nall`),
      );
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    pool = open(raw, 1);
    expect(await get('/')).toBe('all');
    expect(await get('/')).toBe('reset');
  });

  it('answers a new connection by closing it fails the request, instead of being asked for ever', async () => {
    connections = 0;
    raw = createTcpServer((socket) => {
      connections += 1;
      socket.once('data', () => socket.destroy());
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    pool = open(raw, 1);
    expect(await get('/')).toBe('reset');
    expect(connections).toBe(1);
  });

  it.each(['HTTP/1.1 2', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nall'])(
    'breaks off a later answer behind %j fails the request, which it worked on',
    async (begun) => {
      connections = 0;
      let answers = 0;
      raw = createTcpServer((socket) => {
        connections += 1;
        socket.on('data', () => {
          if (answers++ === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nall');
          else socket.end(begun);
        });
      });
      raw.listen(0, '127.0.0.1');
      await once(raw, 'listening');
      pool = open(raw, 1);
      expect([await get('/'), await get('/')]).toEqual(['all', 'reset']);
      expect([connections, pool.repeated]).toEqual([1, 0]);
    },
  );

  it('closes it while it is idle is not reused', async () => {
    connections = 0;
    const closed: Promise<unknown>[] = [];
    raw = createTcpServer((socket) => {
      connections += 1;
      closed.push(once(socket, 'close'));
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nall'));
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    pool = open(raw, 1);
    expect(await get('/')).toBe('all');
    // Wait until our side is closed, too.
    await closed[0];
    expect(await get('/')).toBe('all');
    expect([connections, pool.repeated]).toEqual([2, 0]);
  });

  it('does not accept a connection in time is given up', async () => {
    // It accepts TCP connections, but never sends anything of TLS.
    await serve();
    const origin = { ...originOf(new URL('https://127.0.0.1')), port: (raw.address() as AddressInfo).port };
    pool = new Pool({ origin, maxConnections: 1, connectTimeoutMs: 20, now: () => now });
    expect(await get('/')).toBe('connect-timeout');
  });
});
