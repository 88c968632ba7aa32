import { until } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { call, formats } from '../support/call.ts';
import { type ChatGateway, startChatGateway } from '../support/chat-gateway.ts';

let chat: ChatGateway;
beforeAll(async () => {
  chat = await startChatGateway();
  await chat.gateway.startWorker();
});
afterAll(() => chat?.stop());
beforeEach(async () => {
  // The one that was killed before may take long to start again, and one must be there when the other is killed.
  const slots = () => chat.gateway.metric('sluice_pool_slots', { pool: 'chat' });
  await until(async () => (await slots()) === 2 * 8, { timeoutMs: 50_000, what: 'both workers to serve' });
});

it.each(formats)('a single answer of %s whose worker dies midway is generated anew', async (format) => {
  const { gateway, server } = chat;
  const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
  let calls = 0;
  server.answerWith(async (exchange) => {
    calls += 1;
    if (calls === 1) {
      await exchange.text('half of ');
      await exchange.closed;
      return;
    }
    await exchange.text('the ');
    await exchange.text('whole');
    await exchange.finish('stop', usage);
  });
  await chat.renewBudget();
  const begun = () => gateway.metric('sluice_time_to_first_token_seconds_count', { model: 'chat' });
  const before = await begun();
  const answer = call({ ...gateway, model: 'chat', format, prompt: 'hi', stream: false });
  await until(async () => (await begun()) === before + 1);
  process.kill((await gateway.workerAtWork()).pid, 'SIGKILL');
  expect(await answer).toMatchObject({ status: 200, text: 'the whole' });
  expect(calls).toBe(2);
  await until(async () => (await chat.budget()).reserved === 0);
  expect((await chat.budget()).spent).toBe(usage.total_tokens);
});

it('a stream whose worker dies before its client was shown anything is generated anew', async () => {
  const { gateway, server } = chat;
  let calls = 0;
  server.answerWith(async (exchange) => {
    calls += 1;
    await exchange.reasoning('Let me see');
    const all = ['{"at":', calls === 1 ? '"nig' : '"noon"}'];
    await exchange.toolCall({ index: 0, id: `call_${calls}`, name: 'look', arguments: all });
    if (calls === 1) return exchange.closed;
    return exchange.finish('tool_calls');
  });
  const begun = () => gateway.metric('sluice_time_to_first_token_seconds_count', { model: 'chat' });
  const before = await begun();
  // Generate content shows calls with the end of the answer, and thinking to those who ask for it.
  const answer = fetch(`${gateway.baseUrl}/v1beta/models/chat:streamGenerateContent?alt=sse`, {
    method: 'POST',
    headers: { 'x-goog-api-key': gateway.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      contents: [{ parts: [{ text: 'Hello' }] }],
      tools: [{ functionDeclarations: [{ name: 'look' }] }],
    }),
  });
  await until(async () => (await begun()) === before + 1);
  process.kill((await gateway.workerAtWork()).pid, 'SIGKILL');
  const response = await answer;
  const text = await response.text();
  expect([response.status, calls]).toEqual([200, 2]);
  expect(text.match(/"functionCall":/g)).toHaveLength(1);
  expect(text).toContain('"args":{"at":"noon"}');
  expect(text).not.toContain('error');
});
