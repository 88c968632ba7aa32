import { type ChatServer, startChatServer, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

/** Requests that no model has seen: they cost nothing, however long their prompts are. */
let server: ChatServer;
let gateway: Gateway;
let redis: Redis;
beforeAll(async () => {
  server = await startChatServer();
  gateway = await startGateway({
    settings: {
      pools: { chat: { backend: { engine: 'upstream', baseUrl: server.baseUrl, slots: 8 } } },
      models: { chat: { pool: 'chat' } },
    },
  });
  redis = new Redis(gateway.redisUrl);
  await gateway.cli('limits', 'set', '--tenant', 'tests', 'token-budget=1000000');
});
afterAll(async () => {
  redis?.disconnect();
  await gateway?.stop();
  await server?.stop();
});

const budget = async () => {
  const [spent, reserved] = await redis.hmget('sluice:{t:tests}:token-budget:tenant', 'spent', 'reserved');
  return { spent: Number(spent), reserved: Number(reserved) };
};

async function ask() {
  const prompt = 'Hello '.repeat(500);
  const answer = await call({ ...gateway, format: 'openai', model: 'chat', prompt, stream: false });
  await until(async () => (await budget()).reserved === 0);
  return answer;
}

test.each([400, 401, 429, 500, 503])(
  'a server that refuses with %d leaves nothing to pay',
  async (status) => {
    await redis.del('sluice:{t:tests}:token-budget:tenant');
    server.answerWith((exchange) => exchange.fail(status, { error: { message: 'no', type: 'no' } }));
    expect((await ask()).status).toBeGreaterThanOrEqual(400);
    expect(await budget()).toEqual({ spent: 0, reserved: 0 });
  },
);

test('a server that answers with nothing but the end of its connection leaves nothing to pay', async () => {
  await redis.del('sluice:{t:tests}:token-budget:tenant');
  server.answerWith(async (exchange) => exchange.cut());
  expect((await ask()).status).toBe(503);
  expect(await budget()).toEqual({ spent: 0, reserved: 0 });
});

test('a server that breaks off what it has begun is paid for', async () => {
  await redis.del('sluice:{t:tests}:token-budget:tenant');
  server.answerWith(async (exchange) => {
    for (let word = 0; word < 5; word += 1) await exchange.text(`word${word} `);
    exchange.cut();
  });
  await ask();
  expect((await budget()).spent).toBeGreaterThan(500);
});
