import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createIngressMetrics, createLogger, type IngressMetrics, renderMetrics } from '@sluice/runtime';
import { type FastifyInstance, fastify } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PromptRoom } from '../guards/prompt-room.ts';
import type { Services } from '../services.ts';
import { registerBody } from './body.ts';
import { registerBodyRoom } from './body-room.ts';
import { refuseBrokenHttp } from './broken-http.ts';
import { registerEarlyRefusal } from './early-refusal.ts';
import { registerErrors } from './errors.ts';
import { exchangeOf, registerObservation } from './observe.ts';

/** Room for four of the largest bodies. */
const largest = 20_000;

let app: FastifyInstance;
let port: number;
let sockets: Socket[];
let arrived: number;
let closed: number;
let metrics: IngressMetrics;

beforeEach(async () => {
  sockets = [];
  arrived = 0;
  closed = 0;
  metrics = createIngressMetrics();
  const services = {
    ...{ metrics, logger: createLogger({ name: 'test', level: 'silent' }) },
    ...{ monotonic: () => 0, newRequestId: () => 'r' },
    promptRoom: new PromptRoom(1_000_000),
  } as unknown as Services;
  app = fastify({ bodyLimit: largest, clientErrorHandler: refuseBrokenHttp(services) });
  app.server.on('connection', (socket) => {
    socket.on('close', () => {
      closed += 1;
    });
  });
  registerObservation(app, services);
  registerErrors(app, services);
  registerEarlyRefusal(app);
  registerBodyRoom(app, largest);
  registerBody(app, services.promptRoom);
  app.post('/v1/chat/completions', {
    onRequest: async (http) => {
      const tenant = String(http.headers['x-tenant']);
      exchangeOf(http).caller = {
        tenant,
        keyId: 'k',
        weight: 1,
        limits: { tenant: {}, key: {} },
        allows: () => true,
      };
    },
    preParsing: (_http, _reply, payload, done) => {
      payload.on('data', (piece: Buffer) => {
        arrived += piece.length;
      });
      done(null, payload);
    },
    handler: async () => ({}),
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  port = address.port;
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** Begins a request whose body is announced as the largest unless told otherwise, and sends so much of it. */
async function begin(tenant: string, bytes: number, framing = `content-length: ${largest}`): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  sockets.push(socket);
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-tenant: ${tenant}\r\n`;
  const before = arrived;
  socket.write(`${head}${framing}\r\n\r\n"${'x'.repeat(bytes - 1)}`);
  await expect.poll(() => arrived).toBe(before + bytes);
  return socket;
}

const statusOf = async (socket: Socket): Promise<string> => {
  const [answer] = await once(socket, 'data');
  return String(answer).slice(9, 12);
};
const finish = (socket: Socket, bytes: number) => socket.write(`${'x'.repeat(bytes - 1)}"`);

it('leaves room for others, however much of its requests a tenant does not finish', async () => {
  const first = await begin('greedy', 15_000);
  const second = await begin('greedy', 15_000);
  const third = await begin('greedy', 15_000);
  expect(await statusOf(third)).toBe('429');
  const told = async () => (await renderMetrics(metrics.registry)).body;
  await expect.poll(told).toContain('sluice_refusals_total{limit="bodies"} 1');

  const other = await begin('other', 15_000);
  finish(other, 5_000);
  expect(await statusOf(other)).toBe('200');

  finish(first, 5_000);
  expect(await statusOf(first)).toBe('200');
  finish(second, 5_000);
  expect(await statusOf(second)).toBe('200');
});

it('takes room back from what was finished, refused or left', async () => {
  for (let round = 0; round < 4; round += 1) {
    const left = await begin('greedy', 15_000);
    const finished = await begin('greedy', 15_000);
    const refused = await begin('greedy', 15_000);
    expect(await statusOf(refused)).toBe('429');
    finish(finished, 5_000);
    expect(await statusOf(finished)).toBe('200');
    const before = closed;
    left.destroy();
    await expect.poll(() => closed).toBe(before + 1);
    const whole = await begin('greedy', 15_000);
    finish(whole, 5_000);
    expect(await statusOf(whole)).toBe('200');
  }
});

it('counts what each piece of a body takes beside its bytes', async () => {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  sockets.push(socket);
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-tenant: greedy\r\n');
  socket.write(`transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(100)}`);
  expect(await statusOf(socket)).toBe('429');
});

it('takes room back from what was too large, while the rest of it is thrown away', async () => {
  for (let round = 0; round < 4; round += 1) {
    const tooLarge = await begin('greedy', 15_000, `content-length: ${largest + 1}`);
    expect(await statusOf(tooLarge)).toBe('413');
    const whole = await begin('greedy', 15_000);
    finish(whole, 5_000);
    expect(await statusOf(whole)).toBe('200');
  }
});
