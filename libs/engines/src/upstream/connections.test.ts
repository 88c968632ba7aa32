import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Connections } from './connections.ts';

let server: Server;
let connections: Connections;
let sockets: number;
let held: ServerResponse[];
let arrived: () => void;

beforeEach(async () => {
  sockets = 0;
  held = [];
  arrived = () => undefined;
  server = createServer((request, response) => {
    if (request.url === '/hold') {
      held.push(response);
      response.write('begun');
      arrived();
    } else response.end('answer');
  });
  server.on('connection', () => {
    sockets += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  connections = open(3);
});
afterEach(async () => {
  await connections.destroy();
  server.closeAllConnections();
  server.close();
});

function open(limit: number): Connections {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return new Connections(`http://127.0.0.1:${address.port}`, limit, { headersTimeout: 0, bodyTimeout: 0 });
}

/** Resolves with the whole body. */
function get(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = '';
    connections.dispatch(
      { path, method: 'GET' },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (_controller, chunk) => {
          body += chunk;
        },
        onResponseEnd: () => resolve(body),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

/** Resolves when the server holds so many. */
async function holds(count: number): Promise<void> {
  while (held.length < count) {
    await new Promise<void>((resolve) => {
      arrived = resolve;
    });
  }
}

describe('Connections', () => {
  it('uses a connection again instead of opening another', async () => {
    for (let call = 0; call < 20; call++) expect(await get('/')).toBe('answer');
    // A call that follows the end of another at once finds that connection not yet free.
    expect(sockets).toBeLessThanOrEqual(2);
  });

  it('opens one for each answer at the same time, and no more than the limit', async () => {
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

  it('goes on after connections that were cut', async () => {
    const cut = get('/hold');
    await holds(1);
    held[0]?.destroy();
    await expect(cut).rejects.toThrow();
    expect(await Promise.all(['/', '/', '/', '/', '/', '/'].map(get))).toHaveLength(6);
  });

  it('goes on when the server is there again', async () => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    await expect(get('/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(Promise.all(['/', '/', '/', '/'].map(get))).rejects.toThrow();
    server.listen(address.port, '127.0.0.1');
    await once(server, 'listening');
    expect(await Promise.all(['/', '/', '/', '/', '/'].map(get))).toHaveLength(5);
  });

  it('tells those who wait, too, when it is destroyed', async () => {
    const answers = ['/hold', '/hold', '/hold', '/hold'].map(get);
    const outcomes = Promise.allSettled(answers);
    await holds(3);
    await connections.destroy();
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
  });
});
