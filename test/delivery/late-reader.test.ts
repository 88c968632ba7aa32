import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ChatGateway, startChatGateway } from '../support/chat-gateway.ts';

let chat: ChatGateway;
beforeAll(async () => {
  chat = await startChatGateway({ SLUICE_DRAIN_LIMIT_MS: '30000' });
});
afterAll(() => chat?.stop());

/** Asks for a stream, and reads nothing of it yet. */
async function openStream(): Promise<IncomingMessage> {
  const http = request(`${chat.gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${chat.gateway.apiKey}`, 'content-type': 'application/json' },
  });
  http.end(JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }));
  const [response] = (await once(http, 'response')) as [IncomingMessage];
  return response;
}

test('a worker that drains stays until a slow reader has the whole of an answer that has ended', async () => {
  const dropped = () => chat.gateway.metric('sluice_frames_dropped_total', { reason: 'paused' });
  const askedAgain = () => chat.gateway.metric('sluice_resends_total', { reason: 'paused' });
  const ended = Promise.withResolvers<void>();
  let length = 0;
  chat.server.answerWith(async (exchange) => {
    // As much as the kernel holds for the reader, which it takes a while to find out, and some more.
    for (let untaken = 0, before = 0, asked = -1; untaken - before < 16; untaken = await dropped()) {
      const resumed = await askedAgain();
      if (resumed !== asked) before = untaken;
      asked = resumed;
      await exchange.text('x'.repeat(32 * 1024));
      length += 32 * 1024;
    }
    await exchange.finish('stop', { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 });
    ended.resolve();
  });
  const stream = await openStream();
  await ended.promise;
  const exit = chat.gateway.workers[0]?.stop();
  // As in a rolling restart; who does not wait for the reader is gone by then.
  await chat.gateway.startWorker();
  let text = '';
  for await (const piece of stream.setEncoding('utf8')) text += piece;
  expect(text.slice(text.lastIndexOf('data: ') - 1)).toBe('\ndata: [DONE]\n\n');
  const said = text.matchAll(/"content":"(x+)"/g);
  expect(said.reduce((sum, [, piece = '']) => sum + piece.length, 0)).toBe(length);
  expect(await exit).toEqual({ code: 0, signal: null });
});
