import { until } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { call } from '../support/call.ts';
import { type ChatGateway, startChatGateway } from '../support/chat-gateway.ts';

/** Requests that no model has seen cost nothing, however long their prompts are. */
let chat: ChatGateway;
beforeAll(async () => {
  chat = await startChatGateway();
});
afterAll(() => chat?.stop());
beforeEach(() => chat.renewBudget());

async function ask() {
  const prompt = 'Hello '.repeat(500);
  const answer = await call({ ...chat.gateway, format: 'openai', model: 'chat', prompt, stream: false });
  await until(async () => (await chat.budget()).reserved === 0);
  return answer;
}

test.each([400, 401, 429, 500, 503])(
  'a server that refuses with %d leaves nothing to pay',
  async (status) => {
    chat.server.answerWith((exchange) => exchange.fail(status, { error: { message: 'no', type: 'no' } }));
    expect((await ask()).status).toBeGreaterThanOrEqual(400);
    expect(await chat.budget()).toEqual({ spent: 0, reserved: 0 });
  },
);

test('a server that answers with nothing but the end of its connection leaves nothing to pay', async () => {
  chat.server.answerWith(async (exchange) => exchange.cut());
  expect((await ask()).status).toBe(503);
  expect(await chat.budget()).toEqual({ spent: 0, reserved: 0 });
});

test('a server that breaks off what it has begun is paid for', async () => {
  chat.server.answerWith(async (exchange) => {
    for (let word = 0; word < 5; word += 1) await exchange.text(`word${word} `);
    exchange.cut();
  });
  await ask();
  expect((await chat.budget()).spent).toBeGreaterThan(500);
});
