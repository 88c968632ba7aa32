import { writeFile } from 'node:fs/promises';
import { type ChatServer, startChatServer } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let server: ChatServer;
let gateway: Gateway;
beforeAll(async () => {
  server = await startChatServer();
  gateway = await startGateway({ settings: settingsWith({ known: 'vendor/known' }) });
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
});

/** Settings with one pool and these models, given by their names at the server. */
function settingsWith(models: Record<string, string>): object {
  const backend = { engine: 'upstream', baseUrl: server.baseUrl };
  const entries = Object.entries(models).map(([id, backendModel]) => [id, { pool: 'chat', backendModel }]);
  return { pools: { chat: { backend } }, models: Object.fromEntries(entries) };
}

it('a model that only newer settings know is refused until a worker has them, and asked for by no other name', async () => {
  const settings = settingsWith({ known: 'vendor/known', added: 'vendor/added' });
  await writeFile(gateway.environment.SLUICE_CONFIG ?? '', JSON.stringify(settings));
  const { ready } = await gateway.startIngress();
  const ask = (model: string) =>
    call({
      ...{
        baseUrl: `http://127.0.0.1:${ready.port}`,
        apiKey: gateway.apiKey,
        format: 'openai',
        stream: false,
      },
      ...{ model, prompt: 'hello' },
    });
  await gateway.cli('limits', 'set', '--tenant', 'tests', 'token-budget=1000000');
  expect(await ask('added')).toMatchObject({ status: 503 });
  expect(server.exchanges).toEqual([]);
  expect(await gateway.cli('limits', 'show', '--tenant', 'tests')).toMatch(/token-budget +1000000 +0 /);
  expect(await ask('known')).toMatchObject({ text: 'Hello there.' });

  await gateway.startWorker();
  await gateway.workers[0]?.stop();
  expect(await ask('added')).toMatchObject({ text: 'Hello there.' });
  expect(server.exchanges.map(({ request }) => request.body.model)).toEqual(['vendor/known', 'vendor/added']);
});
