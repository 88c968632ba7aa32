import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { until } from '@sluice/testing';
import { type FastifyError, type FastifyInstance, fastify } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { registerContinue } from './continue.ts';

let app: FastifyInstance;
let client: Socket;
let received: string;
let asked: string[];
let answerFirst: () => void;

beforeEach(async () => {
  received = '';
  asked = [];
  answerFirst = () => undefined;
  app = fastify();
  registerContinue(app);
  app.addHook('onRequest', async ({ url }) => {
    asked.push(url);
  });
  app.get(
    '/first',
    () =>
      new Promise((resolve) => {
        answerFirst = () => resolve('first');
      }),
  );
  app.post('/read', async ({ body }) => Buffer.from(`read ${body}`));
  app.post(
    '/refused',
    { onRequest: async (_http, reply) => reply.code(401).send(Buffer.from('refused')) },
    () => undefined,
  );
  app.post('/small', { bodyLimit: 3 }, () => undefined);
  app.setErrorHandler(({ statusCode = 500 }: FastifyError, _http, reply) =>
    reply.code(statusCode).send(Buffer.from('refused')),
  );
  app.get('/last', async () => 'last');
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  client = connect({ port: address.port, host: '127.0.0.1' });
  client.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
});
afterEach(async () => {
  client.destroy();
  await app.close();
});

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`;
const post = (path: string) =>
  `POST ${path} HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\n`;

/** All that came, without the headers. */
const heard = () => received.replace(/(HTTP\/1\.1 \d+) [\s\S]*?\r\n\r\n/g, '$1 ');

it('a client that asks before it sends its body is told to go on', async () => {
  client.write(post('/read'));
  await until(() => received !== '');
  expect(received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  client.write('body');
  await until(() => heard() === 'HTTP/1.1 100 HTTP/1.1 200 read body');
});

it('one that asks behind another request is told so behind the answer to that', async () => {
  client.write(get('/first') + post('/read'));
  await until(() => asked.length === 2);
  answerFirst();
  await until(() => received.endsWith('100 Continue\r\n\r\n'));
  expect(heard()).toBe('HTTP/1.1 200 firstHTTP/1.1 100 ');
  client.write(`body${get('/last')}`);
  await until(() => received.endsWith('last'));
  expect(heard()).toBe('HTTP/1.1 200 firstHTTP/1.1 100 HTTP/1.1 200 read bodyHTTP/1.1 200 last');
});

it('one that was answered meanwhile gets its answer in one piece, and nothing after it', async () => {
  const ended = once(client, 'end');
  client.write(`${get('/first')}${post('/refused')}body${get('/last')}`);
  await until(() => asked.length === 3);
  answerFirst();
  await ended;
  // The server need not know whether the body would still come.
  expect(heard()).toBe('HTTP/1.1 200 firstHTTP/1.1 401 refused');
  expect(received.toLowerCase()).toContain('connection: close\r\n');
});

it.each([
  ['by the checks of its head', '/refused', 401],
  ['for the length that it announces', '/small', 413],
])('one that is refused %s is not told to go on, and its connection ends', async (_why, path, status) => {
  const ended = once(client, 'end');
  client.write(post(path));
  await ended;
  expect(heard()).toBe(`HTTP/1.1 ${status} refused`);
  expect(received.toLowerCase()).toContain('connection: close\r\n');
});

it('one that asks and sends no body gets its answer, and the next one', async () => {
  client.write('GET /last HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\n\r\n');
  await until(() => received.endsWith('last'));
  client.write(get('/last'));
  await until(() => heard() === 'HTTP/1.1 100 HTTP/1.1 200 lastHTTP/1.1 200 last');
});
