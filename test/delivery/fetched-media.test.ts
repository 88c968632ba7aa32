import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { servingIn } from '../support/serving.ts';

const picture = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(16_000_000)]);
const answer = { choices: [{ message: { role: 'assistant', content: 'seen' }, finish_reason: 'stop' }] };

/** The server of the pictures, and of the model that is shown them. */
let server: Server;
let address: string;
let gateway: Gateway;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'image/png').end(request.url === '/v1/models' ? '{}' : picture);
      return;
    }
    request.resume().once('end', () => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  address = `http://127.0.0.1:${port}`;
  const media = { fetch: 'always', internal: ['127.0.0.1'], allowHttp: true, ports: [port] };
  const backend = { engine: 'upstream', dialect: 'openai', baseUrl: `${address}/v1`, slots: 32, media };
  gateway = await startGateway({
    settings: { pools: { eyes: { backend } }, models: { eyes: { pool: 'eyes' } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  server.close();
});

test('a worker fetches no more files at a time than it has memory for, and each in the end', async () => {
  await Promise.all(gateway.workers.map((worker) => worker.stop()));
  const { lines } = await gateway.startWorker({ NODE_OPTIONS: '--max-old-space-size=96' });
  await until(() => servingIn(lines).length === 1);
  const before = servingIn(lines);
  const look = async (number: number) => {
    const image = { type: 'image_url', image_url: { url: `${address}/${number}.png` } };
    const response = await fetch(`${gateway.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'eyes', messages: [{ role: 'user', content: [image] }] }),
    });
    return { status: response.status, body: await response.json() };
  };
  const answers = await Promise.all(Array.from({ length: 10 }, (_, number) => look(number)));
  expect(answers).toEqual(
    answers.map(() => ({ status: 200, body: expect.objectContaining({ object: 'chat.completion' }) })),
  );
  expect(servingIn(lines)).toEqual(before);
});
