import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { busyGauges } from '../support/gauges.ts';
import { leftoverKeys } from '../support/redis-keys.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ ingresses: 2, workers: 2 });
});
afterAll(() => gateway.stop());

test('500 concurrent streams of all formats end complete and equal to the reference text', async () => {
  const tokens = 200;
  const answers = await Promise.all(
    Array.from({ length: 500 }, async (_, seed) => {
      const answer = await call({
        baseUrl: gateway.baseUrls[seed % 2] ?? '',
        apiKey: gateway.apiKey,
        // Every third of each ingress speaks each format.
        format: formats[Math.floor(seed / 2) % 3] ?? 'openai',
        prompt: `[[sim tokens=${tokens} ttft=5ms gap=5ms seed=${seed}]]`,
        stream: seed % 5 !== 0,
      });
      return { ...answer, isEqual: answer.text === referenceText(seed, 0, tokens) };
    }),
  );
  expect(answers.filter((answer) => answer.status !== 200)).toEqual([]);
  expect(answers.filter((answer) => !answer.isComplete || !answer.isEqual)).toEqual([]);
});

test('after the load every gauge reads 0 and no key of a request is left without an expiry', async () => {
  await until(async () => (await busyGauges(gateway)).length === 0, { what: 'the end of all work' });
  expect(await gateway.metric('sluice_requests_total')).toBe(500);
  await until(async () => (await leftoverKeys(gateway.redisUrl)).length === 0);
  expect(await leftoverKeys(gateway.redisUrl)).toEqual([]);
});
