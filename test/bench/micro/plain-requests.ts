import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { findIngressPart, type IngressParts } from './checkout.ts';
import type { Subject } from './subject.ts';

const clients = 32;
const turns = 8;
const path = '/v1/chat/completions';
const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello, how are you?' }] });
const request =
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n` +
  `accept: application/json\r\nuser-agent: bench\r\nauthorization: Bearer sk-${'x'.repeat(40)}\r\n` +
  `content-length: ${body.length}\r\n\r\n${body}`;
const answer = JSON.stringify({ id: 'abc', choices: [{ message: { role: 'assistant', content: 'fine' } }] });

/** The small part of both kinds of responses that is needed here. */
type Response = Pick<ServerResponse, 'writeHead' | 'end'>;

function reply(response: Response): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': String(answer.length),
    'x-request-id': 'abcdefabcdef',
  });
  response.end(answer);
}

/** A request of each of 32 clients per turn, read and answered at once, by Node's own server. */
export const nodeRequests: Subject = {
  name: 'request, Node',
  unit: 'request',
  isReference: true,
  open: () => openServer(),
};

/** The same by the fast path. */
export const plainRequests: Subject = {
  name: 'request, fast path',
  unit: 'request',
  async open(root) {
    // Older checkouts have no fast path: Node's own server does the same there.
    return openServer(await findIngressPart(root, 'fast-path.ts', 'openFastPath'));
  },
};

async function openServer(openFastPath?: IngressParts['openFastPath']) {
  const server = createServer((message, response) => {
    const pieces: Buffer[] = [];
    message.on('data', (piece: Buffer) => pieces.push(piece));
    message.on('end', () => {
      JSON.parse(Buffer.concat(pieces).toString());
      reply(response);
    });
  });
  openFastPath?.(server, {
    ...{
      keepAliveMs: 75_000,
      idleLimitMs: 75_000,
      bodyLimitBytes: 1_000_000,
      isClosing: () => false,
      now: Date.now,
    },
    onHandOver: () => undefined,
    route: () => (_head: unknown, bytes: Buffer, response: Response) => {
      JSON.parse(bytes.toString());
      reply(response);
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  let waiting = 0;
  let answered = Promise.withResolvers<void>();
  // The clients run in this process, too. They only count answers, each of which comes in one piece.
  const onAnswer = (): true => {
    waiting -= 1;
    if (waiting === 0) answered.resolve();
    return true;
  };
  const buffer = Buffer.alloc(65_536);
  const sockets: Socket[] = [];
  for (let client = 0; client < clients; client += 1) {
    const socket = connect({ port: address.port, host: '127.0.0.1', onread: { buffer, callback: onAnswer } });
    await once(socket, 'connect');
    sockets.push(socket);
  }
  return {
    operations: clients * turns,
    async batch() {
      for (let turn = 0; turn < turns; turn += 1) {
        answered = Promise.withResolvers();
        waiting = clients;
        for (const socket of sockets) socket.write(request, 'latin1');
        await answered.promise;
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
