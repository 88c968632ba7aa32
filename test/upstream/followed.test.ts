import { type ChatServer, startChatServer, until } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { servingIn } from '../support/serving.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const prompt = 'words of a prompt';
let server: ChatServer;
let gateway: Gateway;
beforeAll(async () => {
  server = await startChatServer();
  const backend = { engine: 'upstream', baseUrl: server.baseUrl };
  gateway = await startGateway({
    settings: { pools: { chat: { backend } }, models: { chat: { pool: 'chat' } } },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
});

async function ask(): Promise<string> {
  const { baseUrl, apiKey } = gateway;
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
      tracestate: 'vendor=1',
    },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: prompt }] }),
  });
  await response.text();
  return response.headers.get('x-request-id') ?? '';
}

/** The log line with this message about a request, as soon as a process has written it. */
async function lineOf(lines: readonly string[] | undefined, msg: string, requestId: string) {
  let found: Record<string, unknown> | undefined;
  await until(() => {
    found = (lines ?? [])
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line.msg === msg && line.requestId === requestId);
    return found !== undefined;
  });
  return found;
}

it('what has not happened yet is counted as none, so that the first time shows as an increase', async () => {
  const metrics = async (port: unknown) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const serving = await until(() => servingIn(gateway.workers[0]?.lines ?? [])[0]);
  const [ingress, worker] = await Promise.all([
    metrics(gateway.ingresses[0]?.ready.opsPort),
    metrics(serving.opsPort),
  ]);
  expect(ingress).toContain('sluice_requests_total{format="gemini",outcome="internal"} 0\n');
  expect(ingress).toContain('sluice_tokens_total{model="chat",direction="output"} 0\n');
  expect(worker).toContain('sluice_generations_total{pool="chat",outcome="upstream-failed"} 0\n');
});

it('a request is followed by its id from its answer to the model server', async () => {
  const requestId = await ask();
  expect(server.exchanges.at(-1)?.request.headers).toMatchObject({
    'x-request-id': `${requestId}-1`,
    traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    tracestate: 'vendor=1',
  });
  expect(await lineOf(gateway.ingresses[0]?.lines, 'request', requestId)).toMatchObject({
    outcome: 'ok',
    attempts: 1,
    traceId: trace,
    worker: expect.stringMatching(/^w[0-9a-f]+$/),
  });
});

it('of a request that its model server refused, the log of the worker says how, and not in whose words', async () => {
  const body = { error: { message: `no access: ${prompt}`, type: 'invalid_request_error' } };
  server.answerWith((exchange) => exchange.fail(401, body, { 'x-request-id': 'theirs' }));
  const requestId = await ask();
  const answered = await lineOf(gateway.ingresses[0]?.lines, 'request', requestId);
  const refused = await lineOf(gateway.workers[0]?.lines, 'generation failed', requestId);
  expect(refused).toMatchObject({
    level: 'warn',
    worker: answered?.worker,
    pool: 'chat',
    outcome: 'upstream-failed',
    status: 401,
    serverRequestId: 'theirs',
  });
  expect(JSON.stringify([refused, answered])).not.toContain(prompt);
});

it('of an answer that broke off, it says what the connection did', async () => {
  server.answerWith((exchange) => exchange.cut());
  const requestId = await ask();
  const failed = await lineOf(gateway.workers[0]?.lines, 'generation failed', requestId);
  expect(failed).toMatchObject({
    level: 'warn',
    attempt: 1,
    outcome: 'unavailable',
    why: expect.any(String),
  });
});
