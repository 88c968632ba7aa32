import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    environment: { NODE_OPTIONS: '--max-old-space-size=64' },
    settings: {
      pools: { sim: { backend: { engine: 'simulated', slots: 64 } } },
      models: { sim: { pool: 'sim' } },
    },
  });
});
afterAll(() => gateway.stop());

interface Stream {
  http: ClientRequest;
  response: IncomingMessage;
}

/** Opens a stream with a prompt of so many bytes. By default it is silent for an hour after the first word. */
async function open(bytes = 3_000_000, gap = '3600s'): Promise<Stream> {
  const content = `${'x'.repeat(bytes)}[[sim tokens=20 ttft=0 gap=${gap}]]`;
  const http = request(`${gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${gateway.apiKey}`, 'content-type': 'application/json' },
  });
  http.on('error', () => undefined);
  http.end(JSON.stringify({ model: 'sim', stream: true, messages: [{ role: 'user', content }] }));
  const [response] = (await once(http, 'response')) as [IncomingMessage];
  response.on('error', () => undefined).resume();
  return { http, response };
}

/** Opens streams until one is refused. Returns those that are open. */
async function fill(): Promise<Stream[]> {
  const streams: Stream[] = [];
  for (;;) {
    const stream = await open();
    if (stream.response.statusCode === 429) return streams;
    expect(stream.response.statusCode).toBe(200);
    streams.push(stream);
  }
}

test('more prompts than an ingress has memory for are refused, and end nobody', async () => {
  const streams = await fill();
  expect(streams.length).toBeGreaterThan(2);
  await expect.poll(() => gateway.metric('sluice_refusals_total', { limit: 'prompts' })).toBe(1);
  for (const { http } of streams) http.destroy();
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
  const again = await open();
  expect(again.response.statusCode).toBe(200);
  again.http.destroy();
});

test('bodies of which one alone has room in its memory end nobody when several come at once', async () => {
  const silent = await open(1_000);
  for (let round = 0; round < 3; round += 1) {
    const streams = await Promise.all(Array.from({ length: 6 }, () => open(10_000_000, '20ms')));
    const statuses = streams.map(({ response }) => response.statusCode).sort();
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 1);
  }
  expect(silent.response.destroyed).toBe(false);
  silent.http.destroy();
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
});

test('a body that will never have room in its memory is refused for good', async () => {
  const { response } = await open(15_000_000);
  expect(response.statusCode).toBe(413);
});

test('large prompts that come at once end nobody', async () => {
  const silent = await open(1_000);
  const streams = await Promise.all(Array.from({ length: 100 }, () => open(1_000_000, '20ms')));
  const statuses = new Set(streams.map(({ response }) => response.statusCode));
  expect([...statuses].filter((status) => status !== 429)).toEqual([200]);
  expect(silent.response.destroyed).toBe(false);
  silent.http.destroy();
  await until(async () => (await gateway.metric('sluice_requests_in_flight')) === 0);
});
