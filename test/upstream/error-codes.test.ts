import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

const tooLarge = {
  error_code: 'image_dimensions_too_large',
  max_side_length_pixels: 8000,
  paths: ['messages.0.content.1'],
};
const spent = { error_code: 'contract_spend_limit_reached' };

/** What the server answers below the path of each pool, in the pool's dialect. */
const refusals: Readonly<Record<string, { status: number; error: object }>> = {
  large: { status: 400, error: { type: 'invalid_request_error', message: 'too wide', details: tooLarge } },
  spent: { status: 429, error: { type: 'rate_limit_error', message: 'limit of acct', details: spent } },
  value: { status: 400, error: { type: 'invalid_request_error', message: 'no', code: 'invalid_value' } },
};

const server = createServer((request, response) => {
  request.resume();
  const { status, error } = refusals[request.url?.split('/')[1] ?? ''] ?? { status: 404, error: {} };
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error }));
});
let gateway: Gateway;
let messages: Anthropic;
let chat: OpenAI;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = ([name, dialect]: readonly [string, string]) => {
    const baseUrl = `http://127.0.0.1:${port}/${name}`;
    return [name, { backend: { engine: 'upstream', dialect, baseUrl } }];
  };
  const dialects = [
    ['large', 'anthropic'],
    ['spent', 'anthropic'],
    ['value', 'openai'],
  ] as const;
  gateway = await startGateway({
    settings: {
      pools: Object.fromEntries(dialects.map(pool)),
      models: Object.fromEntries(dialects.map(([name]) => [name, { pool: name }])),
    },
  });
  const { baseUrl, apiKey } = gateway;
  messages = new Anthropic({ baseURL: baseUrl, apiKey, maxRetries: 0 });
  chat = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0 });
});
afterAll(async () => {
  await gateway?.stop();
  server.close();
});

const hello = [{ role: 'user' as const, content: 'Hello' }];
const told = async (model: string, stream: boolean): Promise<unknown> => {
  const body = { model, messages: hello, max_tokens: 9, stream };
  return messages.messages.create(body).catch((error: unknown) => error);
};
const toldInChat = async (model: string, stream: boolean): Promise<unknown> =>
  chat.chat.completions.create({ model, messages: hello, stream }).catch((error: unknown) => error);

it.each([false, true])(
  'a client learns the code of a server of its own format (stream: %s)',
  async (stream) => {
    const error = await told('large', stream);
    expect(error).toBeInstanceOf(Anthropic.ImageDimensionsTooLargeError);
    expect(error).toMatchObject({ status: 400, details: tooLarge });
    expect(await toldInChat('value', stream)).toMatchObject({ status: 400, code: 'invalid_value' });
  },
);

it('a client of another format learns the words alone', async () => {
  expect(await toldInChat('large', false)).toMatchObject({ status: 400, code: null });
  expect(await told('value', false)).toMatchObject({ status: 400, details: null });
});

it('a limit on the money of the gateway’s own account is no rate that a client could wait for', async () => {
  const error = await told('spent', false);
  expect(error).toMatchObject({ status: 502, details: null });
  expect(String(error)).not.toContain('acct');
});
