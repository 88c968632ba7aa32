import { once } from 'node:events';
import { connect } from 'node:net';
import { until } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { call } from '../support/call.ts';
import { type ChatGateway, startChatGateway } from '../support/chat-gateway.ts';
import { rawRequest } from '../support/raw-http.ts';

/** Clients that leave before the end: their generations stop, and they pay for what they received. */
let chat: ChatGateway;
beforeAll(async () => {
  chat = await startChatGateway({ SLUICE_STALL_LIMIT_MS: '1500' });
});
afterAll(() => chat?.stop());
beforeEach(() => chat.renewBudget());

const spent = async () => (await chat.budget()).spent;
const atRest = () => until(async () => (await chat.gateway.metric('sluice_requests_in_flight')) === 0);

/** Posts a stream and leaves when `isEnough` is true of the text so far. */
async function leave(body: object, isEnough: (text: string) => boolean): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${chat.gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${chat.gateway.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, ...body }),
    signal: leaving.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (isEnough(text)) break;
  }
  leaving.abort();
  await atRest();
}

test('a client that leaves a stream of an upstream pays for the prompt and what was delivered', async () => {
  chat.server.answerWith(async (exchange) => {
    for (let word = 0; word < 50; word += 1) await exchange.text(`word${word} `);
    await exchange.closed;
  });
  await leave({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }, (text) =>
    text.includes('word49'),
  );
  await until(async () => (await spent()) > 50);
  expect(await spent()).toBeLessThan(60);
});

test('a client that leaves before its server has counted a picture and a document pays for their size', async () => {
  chat.server.answerWith(async (exchange) => {
    for (let word = 0; word < 5; word += 1) await exchange.text(`word${word} `);
    await exchange.closed;
  });
  const picture = Buffer.alloc(40);
  picture.write('GIF89a');
  picture.writeUInt16LE(1000, 6);
  picture.writeUInt16LE(750, 8);
  const document = Buffer.from('%PDF-1.7 1 0 obj <</Type /Pages /Count 3>> endobj');
  const content = [
    { type: 'image_url', image_url: { url: `data:image/gif;base64,${picture.toString('base64')}` } },
    { type: 'file', file: { file_data: `data:application/pdf;base64,${document.toString('base64')}` } },
  ];
  await leave({ model: 'chat', messages: [{ role: 'user', content }] }, (text) => text.includes('word4'));
  await until(async () => (await spent()) > 0);
  expect(await spent()).toBe(4 + 1000 + 3 * 1500 + 5);
});

test('of several answers, one that was whole does not hide what the others said', async () => {
  let answers = 0;
  chat.server.answerWith(async (exchange) => {
    answers += 1;
    if (answers === 1) {
      await exchange.text('done ');
      await exchange.finish('stop', { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 });
      return;
    }
    for (let word = 0; word < 50; word += 1) await exchange.text(`word${word} `);
    await exchange.closed;
  });
  const body = { model: 'chat', n: 2, messages: [{ role: 'user', content: 'Hello' }] };
  await leave(body, (text) => text.includes('word49') && text.includes('"stop"'));
  await until(async () => (await spent()) > 0);
  expect(await spent()).toBe(7 + 1 + 50);
});

test.each([true, false])(
  'nothing runs for who leaves while its key is looked up, stream: %s',
  async (stream) => {
    const minted = JSON.parse(await chat.gateway.cli('keys', 'mint', '--tenant', 'tests', '--json'));
    const before = await chat.gateway.metric('sluice_requests_total', { outcome: 'cancelled' });
    const messages = [{ role: 'user', content: '[[sim tokens=5 ttft=0 stall@1]]' }];
    const request = rawRequest(
      'POST /v1/chat/completions',
      {
        authorization: `Bearer ${minted.credential}`,
        'content-type': 'application/json',
      },
      JSON.stringify({ model: 'sim', stream, messages }),
    );
    const socket = connect(Number(new URL(chat.gateway.baseUrl).port), '127.0.0.1');
    await once(socket, 'connect');
    // Long enough for the client to leave, and shorter than the look-up may take.
    await chat.redis.call('CLIENT', 'PAUSE', 300, 'ALL');
    await new Promise<void>((resolve) => socket.write(request, () => resolve()));
    // These two answers need no Redis; when they have come, the request sent before them has been read.
    for (let turn = 0; turn < 2; turn += 1) await fetch(`${chat.gateway.baseUrl}/nothing`);
    socket.destroy();
    await until(
      async () =>
        (await chat.gateway.metric('sluice_requests_total', { outcome: 'cancelled' })) === before + 1,
    );
    const { text } = await call({
      ...chat.gateway,
      format: 'openai',
      prompt: '[[sim tokens=2]]',
      stream: false,
    });
    expect(text).not.toBe('');
    await atRest();
    expect((await chat.gateway.busiestWorker()).generations).toBe(0);
  },
);

test('a client that takes nothing of a single answer is dropped as a slow reader, not counted as gone', async () => {
  chat.server.answerWith(async (exchange) => {
    // More than the kernel buffers for a client that does not read.
    for (let part = 0; part < 24; part += 1) await exchange.text('x'.repeat(1024 * 1024));
    await exchange.finish('stop', { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 });
  });
  const count = (outcome: string) => chat.gateway.metric('sluice_requests_total', { outcome });
  const [cut, cancelled] = [await count('cut'), await count('cancelled')];
  const socket = connect(Number(new URL(chat.gateway.baseUrl).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    rawRequest(
      'POST /v1/chat/completions',
      { authorization: `Bearer ${chat.gateway.apiKey}`, 'content-type': 'application/json' },
      JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }),
    ),
  );
  await until(async () => (await count('cut')) + (await count('cancelled')) > cut + cancelled, {
    what: 'the client to be dropped',
    timeoutMs: 30_000,
  });
  expect([await count('cut'), await count('cancelled')]).toEqual([cut + 1, cancelled]);
  socket.destroy();
});
