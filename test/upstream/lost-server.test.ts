import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ChatServer, startChatServer, startProcess, type TestProcess, until } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const slots = 4;
let living: ChatServer;
let dying: Server;
let port: number;
let gateway: Gateway;
const workers: TestProcess[] = [];

/** Starts a server that answers with a list of models and nothing else. */
async function listen(at: number): Promise<void> {
  dying = createServer((_request, response) => response.end('{"object":"list","data":[]}'));
  await new Promise<void>((resolve) => dying.listen(at, '127.0.0.1', resolve));
  ({ port } = dying.address() as AddressInfo);
}

async function close(): Promise<void> {
  dying.closeAllConnections();
  await new Promise((resolve) => dying.close(resolve));
}

beforeAll(async () => {
  living = await startChatServer();
  await listen(0);
  const backend = { engine: 'upstream', baseUrl: { env: 'UPSTREAM_URL' }, slots };
  gateway = await startGateway({
    environment: { UPSTREAM_URL: living.baseUrl },
    settings: {
      pools: { chat: { backend, waitBudgetMs: 120_000 } },
      models: { chat: { pool: 'chat' } },
    },
  });
  // A worker beside each server, as on hosts with a model server of their own.
  const environment = { ...gateway.environment, UPSTREAM_URL: `http://127.0.0.1:${port}/v1` };
  workers.push(await startProcess('apps/worker/src/main.ts', { environment }));
  await until(async () => (await gateway.metric('sluice_pool_slots')) === 2 * slots);
});
afterAll(async () => {
  for (const worker of workers) await worker.stop();
  await gateway?.stop();
  await living?.stop();
  if (dying?.listening) await close();
});

it('leaves its jobs to the workers whose server is there, offers no slots, and does again when it is back', async () => {
  living.answerWith(async (exchange) => {
    await exchange.text('here');
    await exchange.finish('stop');
  });
  const { baseUrl, apiKey } = gateway;
  const say = () => call({ baseUrl, apiKey, model: 'chat', format: 'openai', prompt: 'hi', stream: false });
  await close();
  // More requests than the living server takes at once: some wait, while a worker without a server would have free
  // slots.
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(Array.from({ length: 3 * slots }, say));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [200, 'here']));
  }
  await until(async () => (await gateway.metric('sluice_pool_slots')) === slots);
  await listen(port);
  await until(async () => (await gateway.metric('sluice_pool_slots')) === 2 * slots);
});
