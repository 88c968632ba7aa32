import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { until } from '@sluice/testing';
import { type FastifyInstance, fastify } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { type Connections, registerConnections } from './connections.ts';

const never = new AbortController().signal;
let app: FastifyInstance;
let connections: Connections;
let port: number;
/** Resolves once the server has closed what it does not wait for. */
let retired: Promise<void>;
/** Streams that have begun. */
let begun: { write(text: string): unknown; end(): unknown }[];

async function serve(quietMs: number): Promise<void> {
  app = fastify({ forceCloseConnections: 'idle', return503OnClosing: false });
  connections = registerConnections(app, {
    keepAliveMs: 60_000,
    idleLimitMs: 60_000,
    quietMs,
    bodyLimitBytes: 1_024,
    route: (path) => {
      if (!path.startsWith('/fast')) return undefined;
      return (_head, _body, response) => {
        if (path === '/fast/stream') {
          response.writeHead(200, {});
          response.write('begun');
          begun.push(response);
        } else {
          response.writeHead(200, { 'content-length': '5' });
          response.end('whole');
        }
      };
    },
    now: Date.now,
  });
  retired = new Promise((resolve) => {
    app.addHook('preClose', (done) => {
      resolve();
      done();
    });
  });
  begun = [];
  app.post('/node', async () => 'whole');
  app.post('/node/stream', (_http, { raw }) => {
    raw.writeHead(200);
    raw.write('begun');
    begun.push(raw);
  });
  port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
}
afterEach(async () => {
  app.server.closeAllConnections();
  await app.close();
});

interface Client {
  socket: Socket;
  ask(path: string): void;
  received(): string;
}

/** A client that keeps its connection, which has had one answer, or its beginning. */
async function keepConnection(path: string): Promise<Client> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  let text = '';
  socket.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  const ask = (wanted: string) => {
    const headers = 'host: x\r\ncontent-type: application/json\r\ncontent-length: 2';
    socket.write(`POST ${wanted} HTTP/1.1\r\n${headers}\r\n\r\n{}`);
  };
  ask(path);
  await until(() => /whole|begun/.test(text));
  text = '';
  return { socket, ask, received: () => text };
}

/** Expects one answer, and nothing after it. */
async function expectLastAnswer({ socket, received }: Client): Promise<void> {
  await until(() => socket.closed);
  expect(received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*^connection: close\r$[\s\S]*whole$/im);
}

/** Resolves when no new connections are accepted. */
async function untilRefused(): Promise<void> {
  await until(async () => {
    const late = connect(port, '127.0.0.1');
    const [error] = await Promise.race([once(late, 'error'), once(late, 'connect')]);
    late.destroy();
    return error?.code === 'ECONNREFUSED';
  });
}

describe.each(['/fast', '/node'])('a kept connection of a server that closes (%s)', (path) => {
  it('still gets one answer, which is its last', async () => {
    await serve(600_000);
    const client = await keepConnection(path);
    const closed = connections.close(never, () => undefined);
    await untilRefused();
    client.ask(path);
    await expectLastAnswer(client);
    // No connection is left to wait for.
    await closed;
  });

  it('has a last answer after the end of a stream whose head said that it stays', async () => {
    await serve(600_000);
    const client = await keepConnection(`${path}/stream`);
    const closed = connections.close(never, () => undefined);
    await untilRefused();
    begun[0]?.end();
    await until(() => client.received() !== '');
    const { length } = client.received();
    client.ask(path);
    await expectLastAnswer({ ...client, received: () => client.received().slice(length) });
    await closed;
  });

  it('is closed after such a stream when no request comes', async () => {
    await serve(1);
    const { socket } = await keepConnection(`${path}/stream`);
    const closed = connections.close(never, () => undefined);
    begun[0]?.end();
    await Promise.all([once(socket, 'close'), closed]);
  });

  it('is not cut while its stream goes on', async () => {
    await serve(1);
    const { socket, received } = await keepConnection(`${path}/stream`);
    const closed = connections.close(never, () => undefined);
    await retired;
    begun[0]?.write('more');
    await until(() => received().includes('more'));
    begun[0]?.end();
    await Promise.all([until(() => socket.closed), closed]);
  });

  it('is closed when no request comes', async () => {
    await serve(1);
    const { socket } = await keepConnection(path);
    await Promise.all([once(socket, 'close'), connections.close(never, () => undefined)]);
  });

  it('is closed at once when there is no time to wait', async () => {
    await serve(600_000);
    const { socket } = await keepConnection(path);
    const limit = new AbortController();
    const closed = connections.close(limit.signal, () => undefined);
    limit.abort();
    await Promise.all([once(socket, 'close'), closed]);
  });

  it('is cut soon after the limit if its stream does not end by itself', async () => {
    await serve(1);
    const { socket } = await keepConnection(`${path}/stream`);
    const limit = new AbortController();
    let told = 0;
    const closed = connections.close(limit.signal, () => {
      told += 1;
    });
    limit.abort();
    await Promise.all([once(socket, 'close'), closed]);
    expect(told).toBe(1);
  });
});

it.each(['/fast', '/node'])('a kept connection of a server that does not close stays (%s)', async (path) => {
  await serve(1);
  const client = await keepConnection(path);
  // Longer than a server that closes would wait.
  for (let round = 0; round < 3; round += 1) await keepConnection(path);
  client.ask(path);
  await until(() => /whole$/.test(client.received()));
});

it('a server that closes takes no new connection', async () => {
  await serve(600_000);
  const { socket } = await keepConnection('/fast');
  const closed = connections.close(never, () => undefined);
  await untilRefused();
  socket.destroy();
  await closed;
});

it('a server that closes does not wait for a request of which only the beginning has come', async () => {
  await serve(1);
  const connected = once(app.server, 'connection');
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write('POST /node');
  const [accepted] = await connected;
  await until(() => accepted.bytesRead > 0);
  await connections.close(never, () => undefined);
  await until(() => socket.closed);
});
