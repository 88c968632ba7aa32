import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

/** The bodies that a server of messages received; it refuses them all. */
const asked: unknown[] = [];
const server = createServer(async (request, response) => {
  if (request.method === 'POST') asked.push(await json(request));
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end('{"type":"error","error":{"type":"invalid_request_error","message":"no"}}');
});
let gateway: Gateway;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const backend = { engine: 'upstream', dialect: 'anthropic', baseUrl };
  gateway = await startGateway({
    settings: {
      pools: { claude: { backend } },
      models: { claude: { pool: 'claude', backendModel: 'claude-opus-4-7' } },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  server.close();
});

async function post(path: string, body: object): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
  return response.status;
}

it('sends a server what a client of its own format said, and nothing that another could not know to be refused', async () => {
  const hello = [{ role: 'user', content: 'Hello' }];
  const said = { model: 'claude', temperature: 0.5, messages: hello };
  expect(await post('/v1/messages', { ...said, max_tokens: 9 })).toBe(400);
  expect(await post('/v1/chat/completions', said)).toBe(400);
  expect(asked).toHaveLength(2);
  expect(asked[0]).toMatchObject({ temperature: 0.5 });
  expect(asked[1]).not.toHaveProperty('temperature');
});
