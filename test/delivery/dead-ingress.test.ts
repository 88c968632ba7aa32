import { until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    ingresses: 2,
    settings: {
      pools: { sim: { backend: { engine: 'simulated', slots: 1 }, waitBudgetMs: 600_000 } },
      models: { sim: { pool: 'sim' } },
    },
  });
});
afterAll(() => gateway?.stop());

test('what an ingress had waiting when it died holds up nobody for longer than it takes to miss the ingress', async () => {
  const ask = (baseUrl: string, prompt: string) =>
    call({ baseUrl, apiKey: gateway.apiKey, format: 'openai', prompt, stream: false });
  const [dead = '', alive = ''] = gateway.baseUrls;
  for (let request = 0; request < 30; request += 1)
    ask(dead, '[[sim tokens=2 ttft=0 gap=3600s]]').catch(() => undefined);
  const depth = () => gateway.metric('sluice_queue_depth');
  // As both ingresses see it.
  await until(async () => (await depth()) === 2 * 29);
  await gateway.ingresses[0]?.kill();
  // Its sign of life lasts ten seconds. Each of the others would take three more.
  const answer = await ask(alive, '[[sim tokens=2 ttft=0 gap=0]]');
  expect(answer).toMatchObject({ status: 200, isComplete: true });
  expect(Number(answer.headers.get('x-sluice-queue-wait-ms'))).toBeLessThan(30_000);
});
