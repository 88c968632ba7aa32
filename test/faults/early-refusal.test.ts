import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

/** Sends a body byte by byte over a connection that is to be closed; resolves with the status or the socket's error. */
function sendBytewise(): Promise<number | string | undefined> {
  const body = Buffer.from(
    JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'x'.repeat(400) }] }),
  );
  return new Promise((resolve) => {
    const http = request(`${gateway.baseUrl}/v1/chat/completions`, {
      ...{ method: 'POST', agent: false },
      headers: {
        authorization: 'Bearer sk-wrong',
        'content-type': 'application/json',
        'content-length': body.length,
        connection: 'close',
      },
    });
    http.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)));
    http.on('error', (error) => resolve(error.message));
    http.setNoDelay(true);
    void (async () => {
      for (const byte of body) {
        if (http.destroyed) return;
        http.write(Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      http.end();
    })();
  });
}

test('a refusal reaches a client that is still sending its request', async () => {
  const answers: unknown[] = [];
  for (let count = 0; count < 100; count += 1) answers.push(await sendBytewise());
  expect(answers.filter((answer) => answer !== 401)).toEqual([]);
});
