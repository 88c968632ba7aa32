import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startOwnRedis, startProcess, until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { SLUICE_DRAIN_LIMIT_MS: '30000' } });
});
afterAll(() => gateway.stop());

/** Opens a connection that the ingress has accepted, and writes the beginning of a request into it. */
async function occupy(port: number | undefined, opsPort: number | undefined, text: string): Promise<Socket> {
  const socket = connect(port ?? 0, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  await until(async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return /^sluice_open_connections(\{.*\})? 1$/m.test(metrics);
  });
  return socket;
}

test('an ingress that drains does not wait for connections that never asked anything', async () => {
  const ingress = await gateway.startIngress();
  const socket = await occupy(ingress.ready.port, ingress.ready.opsPort, '');
  const closed = once(socket, 'close');
  expect(await ingress.stop()).toEqual({ code: 0, signal: null });
  await closed;
  expect(ingress.lines.join('\n')).not.toContain('drain limit reached');
});

test('an ingress that drains cuts a request that never arrives whole when the limit is over, and ends well', async () => {
  await using ingress = await startProcess('apps/ingress/src/main.ts', {
    environment: { ...gateway.environment, SLUICE_DRAIN_LIMIT_MS: '100' },
  });
  const headers = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.apiKey}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`;
  const socket = await occupy(ingress.ready.port, ingress.ready.opsPort, headers);
  const closed = once(socket, 'close');
  expect(await ingress.stop()).toEqual({ code: 0, signal: null });
  await closed;
  expect(ingress.lines.join('\n')).toContain('drain limit reached');
});

test('an ingress that drains answers what has begun to arrive on a connection that is kept alive, and closes it', async () => {
  const ingress = await gateway.startIngress();
  const { port, opsPort } = ingress.ready;
  const list = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.apiKey}\r\n\r\n`;
  const socket = await occupy(port, opsPort, list + list.slice(0, -2));
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  await until(() => received.includes('"sim"'));
  received = '';
  const exit = ingress.stop();
  await until(() => isRefused(port));
  socket.write(list.slice(-2));
  await once(socket, 'close');
  expect(received).toMatch(/^HTTP\/1.1 200 .*\r\nconnection: close\r\n.*"sim"/is);
  expect(await exit).toEqual({ code: 0, signal: null });
});

async function isRefused(port: number | undefined): Promise<boolean> {
  const socket = connect(port ?? 0, '127.0.0.1');
  const outcome = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).catch(() => undefined);
  socket.destroy();
  return outcome === undefined;
}

test('an ingress that drains lets a stream end in its own time', async () => {
  const ingress = await gateway.startIngress();
  const began = Promise.withResolvers<void>();
  const answer = call({
    baseUrl: `http://127.0.0.1:${ingress.ready.port}`,
    apiKey: gateway.apiKey,
    format: 'anthropic',
    prompt: '[[sim tokens=20 ttft=0 gap=10ms]]',
    stream: true,
    onText: (text) => text !== '' && began.resolve(),
  });
  await began.promise;
  const exit = ingress.stop();
  expect(await answer).toMatchObject({ isComplete: true });
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(ingress.lines.join('\n')).not.toContain('drain limit reached');
});

test.each(formats)(
  'a worker that drains says the end of its last stream before it is gone (%s)',
  async (format) => {
    const worker = gateway.workers.at(-1);
    const began = Promise.withResolvers<void>();
    const answer = call({
      baseUrl: gateway.baseUrl,
      apiKey: gateway.apiKey,
      format,
      prompt: '[[sim tokens=20 ttft=0 gap=10ms]]',
      stream: true,
      onText: (text) => text !== '' && began.resolve(),
    });
    await Promise.race([began.promise, answer]);
    expect(await worker?.stop()).toEqual({ code: 0, signal: null });
    // There was no other worker that could have continued the stream.
    expect(await answer).toMatchObject({ isComplete: true });
    await gateway.startWorker();
  },
);

test('a worker ends in its own time when Redis has gone before it', async () => {
  await using redis = await startOwnRedis();
  const worker = await startProcess('apps/worker/src/main.ts', {
    environment: { ...gateway.environment, SLUICE_REDIS_URL: redis.url },
  });
  await redis.stop();
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
  expect(worker.lines.join('\n')).not.toContain('drain limit reached');
});
