import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

const megabyte = 1024 * 1024;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { SLUICE_BODY_LIMIT_BYTES: String(4 * megabyte) } });
});
afterAll(() => gateway.stop());

/** Sends a body byte by byte with `connection: close`; resolves to the status or the socket's error. */
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

/** Like many clients, reads nothing before its whole request is sent. Resolves to the status or the socket's error. */
function sendBeforeReading(bytes: number, key: string, line: string): Promise<string> {
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${key}`,
    `content-length: ${bytes}`,
    line,
  ];
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(gateway.baseUrl).port), '127.0.0.1');
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes, 'x'), (error) => {
      if (error) return;
      socket.once('data', (answer) => {
        resolve(String(answer).slice(9, 12));
        socket.destroy();
      });
    });
  });
}

describe.each(['connection: keep-alive', 'connection: close', 'expect: 100-continue'])(
  'a client that sends all before it reads, with the header %s',
  (line) => {
    test('hears that its key is bad', async () => {
      expect(await sendBeforeReading(3 * megabyte, 'sk-wrong', line)).toBe('401');
    });

    test('hears that its body is too large', async () => {
      expect(await sendBeforeReading(32 * megabyte, gateway.apiKey, line)).toBe('413');
    });
  },
);

/** Sends its body only when it is told to go on. */
function askBeforeSending(path: string, headers: Record<string, string>) {
  const body = JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'hello' }] });
  return new Promise<{ status: number | undefined; isInvited: boolean }>((resolve, reject) => {
    let isInvited = false;
    const http = request(`${gateway.baseUrl}${path}`, {
      ...{ method: 'POST', agent: false },
      headers: {
        authorization: `Bearer ${gateway.apiKey}`,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
        ...headers,
      },
    });
    http.on('continue', () => {
      isInvited = true;
      http.end(body);
    });
    http.on('response', (response) => {
      resolve({ status: response.statusCode, isInvited });
      http.destroy();
    });
    http.on('error', reject);
    http.flushHeaders();
  });
}

test.each([
  ['a key that is none', '/v1/chat/completions', { authorization: 'Bearer sk-wrong' }, 401],
  ['a path with nothing', '/v1/chat', {}, 404],
  ['too large a body', '/v1/chat/completions', { 'content-length': String(5 * megabyte) }, 413],
  ['a compressed body', '/v1/chat/completions', { 'content-encoding': 'gzip' }, 415],
])(
  'a client that asks before it sends, with %s, is refused at once',
  async (_what, path, headers, status) => {
    expect(await askBeforeSending(path, headers)).toEqual({ status, isInvited: false });
  },
);

test('a client that asks before it sends what is not refused is told to go on', async () => {
  expect(await askBeforeSending('/v1/chat/completions', {})).toEqual({ status: 200, isInvited: true });
});
