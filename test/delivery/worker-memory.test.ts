import { until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { servingIn } from '../support/serving.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    settings: {
      pools: { sim: { backend: { engine: 'simulated', slots: 64 } } },
      models: { sim: { pool: 'sim' } },
    },
  });
});
afterAll(() => gateway.stop());

test('a worker takes no more prompts than it has memory for, and serves the others when it has', async () => {
  await Promise.all(gateway.workers.map((worker) => worker.stop()));
  const { lines } = await gateway.startWorker({ NODE_OPTIONS: '--max-old-space-size=96' });
  await until(() => servingIn(lines).length === 1);
  const before = servingIn(lines);
  const prompt = `${'x'.repeat(5_000_000)}[[sim tokens=2 ttft=1500ms gap=0]]`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call({ ...gateway, format: 'openai', prompt, stream: true })),
  );
  expect(answers.map(({ status, isComplete }) => ({ status, isComplete }))).toEqual(
    answers.map(() => ({ status: 200, isComplete: true })),
  );
  expect(servingIn(lines)).toEqual(before);
  expect(lines.filter((line) => line.includes('prompts fill the memory of this worker'))).toHaveLength(1);
});
