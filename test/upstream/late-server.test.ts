import { type ChatServer, findFreePort, startChatServer, startProcess, until } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
let late: ChatServer | undefined;
let port: number;
beforeAll(async () => {
  port = await findFreePort();
  const backend = { engine: 'upstream', baseUrl: `http://127.0.0.1:${port}/v1`, slots: 4 };
  gateway = await startGateway({
    environment: { SLUICE_POOLS: 'elsewhere' },
    settings: {
      pools: {
        elsewhere: { backend: { engine: 'simulated' } },
        sim: { backend: { engine: 'simulated' } },
        chat: { backend },
      },
      models: { elsewhere: { pool: 'elsewhere' }, sim: { pool: 'sim' }, chat: { pool: 'chat' } },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await late?.stop();
});

it('one pool is served while the server of another is still to come, and that one as soon as it is there', async () => {
  const ask = (model: string, prompt: string) =>
    call({ ...gateway, model, format: 'openai', prompt, stream: false });
  const environment = { ...gateway.environment, SLUICE_POOLS: 'sim,chat' };
  const starting = startProcess('apps/worker/src/main.ts', { environment });
  // The worker process has to start first.
  await until(async () => (await ask('sim', '[[sim tokens=2]]')).status === 200, { timeoutMs: 30_000 });
  expect(await ask('chat', 'hi')).toMatchObject({ status: 503 });
  late = await startChatServer({ port });
  late.answerWith(async (exchange) => {
    await exchange.text('here');
    await exchange.finish('stop');
  });
  await using _worker = await starting;
  expect(await ask('chat', 'hi')).toMatchObject({ status: 200, text: 'here' });
});
