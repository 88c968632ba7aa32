import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { Json } from '@sluice/canonical';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Format, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

/*
 * A plain request is read by the fast path, every other one by Node's own server. Which of them it was must not show:
 * the same call, once as it is and once with an escape in its address, gets the same answer.
 */

let gateway: Gateway;
/** Each way has its own connections: one that Node's server has taken over stays with it. */
const agents = { plain: new Agent({ keepAlive: true }), escaped: new Agent({ keepAlive: true }) };
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  for (const agent of Object.values(agents)) agent.destroy();
  await gateway.stop();
});

interface Call {
  path: string;
  headers?: Record<string, string>;
  body: string;
}

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

const paths: Record<Format, { single: string; stream: string }> = {
  openai: { single: '/v1/chat/completions', stream: '/v1/chat/completions' },
  anthropic: { single: '/v1/messages', stream: '/v1/messages' },
  gemini: {
    single: '/v1beta/models/sim:generateContent',
    stream: '/v1beta/models/sim:streamGenerateContent?alt=sse',
  },
};
const bodies: Record<Format, (text: string, more?: object) => Json> = {
  openai: (content, more) => ({ model: 'sim', messages: [{ role: 'user', content }], ...more }),
  anthropic: (content, more) => ({
    ...{ model: 'sim', max_tokens: 40, messages: [{ role: 'user', content }] },
    ...more,
  }),
  gemini: (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
};
const prompt = '[[sim tokens=12 ttft=0 gap=0]] é';

async function send({ path, headers = {}, body }: Call, agent: Agent): Promise<Answer & { isFast: boolean }> {
  const http = request(gateway.baseUrl + path, {
    ...{ method: 'POST', agent },
    headers: {
      authorization: `Bearer ${gateway.apiKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...headers,
    },
  });
  http.end(body);
  const [response] = await once(http, 'response');
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) text += piece;
  // Only the spelling of header names shows which of the two wrote the answer.
  const isFast = response.rawHeaders.includes('date');
  return { status: response.statusCode, headers: response.headers, body: text, isFast };
}

/** An answer without what differs between any two answers. */
function comparable({ status, headers, body }: Answer): unknown {
  const id = String(headers['x-request-id']);
  const own = ['date', 'x-sluice-queue-wait-ms'];
  const alike = (text: string) =>
    text
      .replaceAll(id, 'ID')
      .replace(/"(created|createTime)":("[^"]*"|\d+)/g, '"$1":0')
      .replace(/[0-9a-f]{24,}/g, 'ID');
  const names = Object.entries(headers).filter(([name]) => !own.includes(name));
  return {
    status,
    headers: names.map(([name, value]) => `${name}: ${alike(String(value))}`).sort(),
    body: alike(body),
  };
}

async function expectSame(call: Call): Promise<Answer> {
  const plain = await send(call, agents.plain);
  const separator = call.path.includes('?') ? '&' : '?';
  const escaped = await send({ ...call, path: `${call.path}${separator}x=%41` }, agents.escaped);
  expect([plain.isFast, escaped.isFast]).toEqual([true, false]);
  expect(comparable(plain)).toEqual(comparable(escaped));
  return plain;
}

describe.each(formats)('%s answers the same by both ways', (format) => {
  const { single, stream } = paths[format];
  const whole = JSON.stringify(bodies[format](prompt));

  it('in a single body', async () => {
    expect((await expectSame({ path: single, body: whole })).status).toBe(200);
  });

  it.each<[string, number, Partial<Call>]>([
    ['a wrong key', 401, { headers: { authorization: 'Bearer sk-wrong' } }],
    ['no JSON', 400, { body: '{' }],
    ['nothing that makes sense', 400, { body: '{"model":"sim","messages":7,"contents":7}' }],
    ['another type', 415, { headers: { 'content-type': 'text/plain' } }],
    ['compressed', 415, { headers: { 'content-encoding': 'gzip' } }],
    ['what the upstream breaks', 502, { body: JSON.stringify(bodies[format]('[[sim error=502]]')) }],
  ])('to %s', async (_what, status, change) => {
    expect((await expectSame({ path: single, body: whole, ...change })).status).toBe(status);
  });

  it('in a stream', async () => {
    const body = JSON.stringify(bodies[format]('[[sim tokens=1 ttft=0 gap=0]]', { stream: true }));
    const answer = await expectSame({ path: stream, body });
    expect([answer.status, answer.headers['content-type']]).toEqual([
      200,
      expect.stringMatching('event-stream'),
    ]);
  });
});

it.each([
  ['/v1/messages/count_tokens', JSON.stringify(bodies.anthropic(prompt))],
  ['/v1beta/models/sim:countTokens', JSON.stringify(bodies.gemini(prompt))],
])('%s counts the same by both ways', async (path, body) => {
  expect((await expectSame({ path, body })).status).toBe(200);
});
