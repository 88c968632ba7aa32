import { referenceText } from '@sluice/engines';
import { startOwnRedis, until } from '@sluice/testing';
import { expect, test } from 'vitest';
import { startFaultProxy } from '../faults/tcp-proxy.ts';
import { call } from '../support/call.ts';
import { startGateway } from '../support/gateway.ts';

test('a prompt that is long on its way to its worker is generated once', async () => {
  const redis = await startOwnRedis();
  const proxy = await startFaultProxy(redis.port);
  const gateway = await startGateway({ workers: 1, redis });
  const slots = () => gateway.metric('sluice_pool_slots');
  try {
    const slotsOfOne = await slots();
    await gateway.startWorker({ SLUICE_REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    await until(async () => (await slots()) > slotsOfOne);
    await gateway.workers[0]?.stop();
    await until(async () => (await slots()) === slotsOfOne);
    // Some four seconds for the prompt. The ingress knows of the claim at once, and asks for frames after two.
    await proxy.set({ kind: 'throttle', bytesPerSecond: 4_000_000 });
    const answer = await call({
      baseUrl: gateway.baseUrl,
      apiKey: gateway.apiKey,
      format: 'openai',
      prompt: `${'word '.repeat(2_400_000)}[[sim tokens=20 ttft=0 gap=0 seed=1]]`,
      stream: true,
    });
    expect([answer.status, answer.text]).toEqual([200, referenceText(1, 0, 20)]);
    expect(await gateway.metric('sluice_resends_total')).toBeGreaterThan(0);
    // It counts those after the first.
    expect(await gateway.metric('sluice_attempts_total')).toBe(0);
  } finally {
    await gateway.stop();
    await proxy.stop();
    await redis.stop();
  }
});
