import { referenceText } from '@sluice/engines';
import { until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, call, formats } from '../support/call.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let gateway: Gateway;
let redis: Redis;
beforeAll(async () => {
  gateway = await startGateway();
  redis = new Redis(gateway.redisUrl);
});
afterAll(async () => {
  redis.disconnect();
  await gateway.stop();
});

const characters = 300_000;
const ask = (index: number): Promise<Answer> =>
  call({
    baseUrl: gateway.baseUrl,
    apiKey: gateway.apiKey,
    format: formats[index % 3] ?? 'openai',
    prompt: `${'word '.repeat(characters / 5)}[[sim tokens=20 ttft=0 gap=0 seed=${index}]]`,
    stream: index % 2 === 0,
  });

test('a large prompt is answered as a small one is', async () => {
  for (let index = 0; index < 6; index += 1) {
    const answer = await ask(index);
    expect([answer.status, answer.text]).toEqual([200, referenceText(index, 0, 20)]);
  }
});

test('a large prompt that a limit refuses is not sent to Redis', async () => {
  await gateway.cli('limits', 'set', '--tenant', 'tests', 'request-rate=1/1h');
  await until(async () => (await ask(0)).status === 429);
  const sent = async (): Promise<number> =>
    Number(/total_net_input_bytes:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const before = await sent();
  for (let index = 0; index < 6; index += 1) expect((await ask(index)).status).toBe(429);
  expect((await sent()) - before).toBeLessThan(characters);
});
