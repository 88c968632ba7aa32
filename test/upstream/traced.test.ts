import { type ChatScript, type ChatServer, startChatServer, until } from '@sluice/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const prompt = 'words of a prompt';
let collector: Collector;
let server: ChatServer;
let gateway: Gateway;
let calls = 0;
/** The trace of the caller: another one for each test. */
let traceId = '';
beforeAll(async () => {
  [collector, server] = await Promise.all([startCollector(), startChatServer()]);
  gateway = await startGateway({
    // Two, so that one is there while the killed one starts again, however long that takes.
    workers: 2,
    settings: {
      pools: { chat: { backend: { engine: 'upstream', baseUrl: server.baseUrl } } },
      models: {
        chat: { pool: 'chat', backendModel: 'theirs' },
        first: { pool: 'chat', backendModel: 'broken', fallbacks: ['chat'] },
      },
    },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.baseUrl },
  });
});
beforeEach(() => {
  server.answerWith(sayHello);
  calls += 1;
  traceId = `4bf92f3577b34da6a3ce929d0e0e47${calls + 10}`;
});
afterAll(async () => {
  await gateway?.stop();
  await server?.stop();
  await collector?.stop();
});

const sayHello: ChatScript = async (exchange) => {
  await exchange.text('Hello.');
  await exchange.finish('stop', { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
};

const parentId = '00f067aa0ba902b7';

async function ask({
  key = gateway.apiKey,
  flags = '01',
  path = '/v1/chat/completions',
  model = 'chat',
  body = { model, messages: [{ role: 'user', content: prompt }] } as object,
} = {}) {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-${parentId}-${flags}`,
      tracestate: 'vendor=1',
    },
    body: JSON.stringify(body),
  });
  return { text: await response.text(), requestId: response.headers.get('x-request-id') ?? '' };
}

/** The spans of the caller's trace, once there are so many. */
const spansOf = (count: number): Promise<CollectedSpan[]> =>
  until(() => {
    const found = collector.spans.filter((span) => span.traceId === traceId);
    return found.length >= count ? found : undefined;
  });

const named = (spans: readonly CollectedSpan[], name: string) => spans.find((span) => span.name === name);

it('one trace leads from the caller over the request, its wait and its attempt to the model server', async () => {
  const { requestId } = await ask();
  const spans = await spansOf(3);
  const [request, queue, attempt] = ['chat chat', 'queue', 'chat theirs'].map((name) => named(spans, name));
  expect(request).toMatchObject({
    ...{ service: 'sluice-ingress', kind: 2, parentSpanId: parentId, hasFailed: false },
    events: ['first token'],
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'chat',
      'gen_ai.usage.input_tokens': 3,
      'gen_ai.usage.output_tokens': 2,
      'http.response.status_code': 200,
      'sluice.request_id': requestId,
      'sluice.tenant': expect.any(String),
      'sluice.attempts': 1,
      'sluice.worker': expect.stringMatching(/^w/),
    },
  });
  expect(queue).toMatchObject({ service: 'sluice-ingress', parentSpanId: request?.spanId });
  expect(attempt).toMatchObject({
    ...{ service: 'sluice-worker', kind: 3, parentSpanId: request?.spanId, hasFailed: false },
    events: ['first token'],
    attributes: { 'sluice.request_id': requestId, 'sluice.attempt': 1, 'sluice.pool': 'chat' },
  });
  expect(server.exchanges.at(-1)?.request.headers).toMatchObject({
    traceparent: `00-${traceId}-${attempt?.spanId}-01`,
    tracestate: 'vendor=1',
  });
  for (const inner of [queue, attempt]) {
    expect(inner?.startedAtMs).toBeGreaterThanOrEqual(request?.startedAtMs ?? Number.NaN);
    expect(inner?.endedAtMs).toBeLessThanOrEqual(request?.endedAtMs ?? Number.NaN);
  }
});

it('the span of a request is called what its format calls a generation', async () => {
  const contents = [{ role: 'user', parts: [{ text: prompt }] }];
  await ask({ path: '/v1beta/models/chat:generateContent', body: { contents } });
  expect(named(await spansOf(3), 'generate_content chat')).toMatchObject({
    attributes: { 'gen_ai.operation.name': 'generate_content' },
  });
});

it('a failure of the model server is one of the attempt and of the request', async () => {
  server.answerWith((exchange) => exchange.fail(401, { error: { message: `no access: ${prompt}` } }));
  await ask();
  const spans = await spansOf(3);
  expect(
    spans
      .filter(({ hasFailed }) => hasFailed)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['chat chat', 'chat theirs']);
  expect(named(spans, 'chat chat')?.attributes['error.type']).toBe('upstream-failed');
});

it('the trace of a request whose worker died tells why there was another attempt', async () => {
  const heldCall = server.exchanges.length + 1;
  server.answerWith(async () => {
    server.answerWith(sayHello);
    await new Promise(() => undefined);
  });
  const answer = ask();
  await server.arrival(heldCall);
  process.kill((await gateway.workerAtWork()).pid, 'SIGKILL');
  await answer;
  const spans = await spansOf(3);
  expect(named(spans, 'chat chat')).toMatchObject({
    hasFailed: false,
    events: ['another attempt: exited', 'first token'],
    attributes: { 'sluice.attempts': 2 },
  });
  expect(named(spans, 'chat theirs')?.attributes['sluice.attempt']).toBe(2);
});

it('the trace of a request that another model answered tells both models', async () => {
  server.answerWith(async (exchange) => {
    if (exchange.request.body.model === 'broken') return exchange.fail(500, { error: { message: 'broken' } });
    return sayHello(exchange);
  });
  await ask({ model: 'first' });
  const spans = await spansOf(4);
  expect(named(spans, 'chat first')).toMatchObject({
    hasFailed: false,
    events: ['fallback to chat: upstream-failed', 'first token'],
    attributes: { 'gen_ai.request.model': 'first', 'gen_ai.response.model': 'chat' },
  });
  expect(named(spans, 'chat broken')).toMatchObject({ hasFailed: true });
  expect(named(spans, 'chat theirs')).toMatchObject({ hasFailed: false });
});

it('a request that is refused at once has a span, which is no failure of the gateway', async () => {
  await ask({ key: 'sk-unknown' });
  const [span, ...others] = await spansOf(1);
  expect(others).toEqual([]);
  expect(span).toMatchObject({
    ...{ name: 'request', hasFailed: false },
    attributes: { 'http.response.status_code': 401, 'error.type': 'unauthenticated' },
  });
});

it('the caller decides whether its trace is recorded, and the model server hears of the decision', async () => {
  await ask({ flags: '00' });
  const traceparent = String(server.exchanges.at(-1)?.request.headers.traceparent);
  expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  expect(traceparent).not.toContain(parentId);
  const unrecorded = traceId;
  traceId = traceId.replace('4b', '5b');
  await ask();
  await spansOf(3);
  expect(collector.spans.some((span) => span.traceId === unrecorded)).toBe(false);
});

it('requests go on while the collector takes nothing, and the logs say so once', async () => {
  collector.answerWith(400);
  const lines = gateway.ingresses[0]?.lines ?? [];
  const told = (message: string) => lines.filter((line) => line.includes(message)).length;
  for (let count = 0; count < 3; count += 1) expect((await ask()).text).toContain('Hello.');
  await until(() => told('traces do not arrive') > 0);
  collector.answerWith(200);
  traceId = traceId.replace('4b', '6b');
  await ask();
  await spansOf(3);
  await until(() => told('traces arrive again') > 0);
  expect(told('traces do not arrive')).toBe(1);
});

it('what a process has recorded arrives before it ends', async () => {
  await ask();
  await Promise.all([...gateway.ingresses, ...gateway.workers].map((each) => each.stop()));
  expect(collector.spans.filter((span) => span.traceId === traceId)).toHaveLength(3);
});

it('nothing of a prompt or a key is in what the collector gets', () => {
  expect(collector.received).toContain('sluice.request_id');
  expect(collector.received).not.toContain(prompt);
  expect(collector.received).not.toContain(gateway.apiKey);
});
