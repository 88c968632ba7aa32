import { referenceText } from '@sluice/engines';
import { startOwnRedis, startProcess, until } from '@sluice/testing';
import { expect, test, vi } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../faults/installation/tcp-proxy.ts';
import { call } from '../support/call.ts';
import { type ChatGateway, startChatGateway } from '../support/chat-gateway.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

vi.setConfig({ testTimeout: 240_000 });

/** Some four seconds for twelve megabytes. A worker that says nothing for two of them counts as lost. */
const slow = { kind: 'throttle', bytesPerSecond: 3_000_000 } as const;
const characters = 12_000_000;

/** Replaces the only worker by one that reaches Redis through a proxy. */
async function startWorkerBehind(proxy: FaultProxy, gateway: Gateway): Promise<void> {
  const slots = () => gateway.metric('sluice_pool_slots');
  const slotsOfOne = await slots();
  await gateway.startWorker({ SLUICE_REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
  await until(async () => (await slots()) > slotsOfOne);
  await gateway.workers[0]?.stop();
  await until(async () => (await slots()) === slotsOfOne);
}

test('a prompt that is long on its way to its worker is generated once', async () => {
  const redis = await startOwnRedis();
  const proxy = await startFaultProxy(redis.port);
  const gateway = await startGateway({ workers: 1, redis });
  try {
    await startWorkerBehind(proxy, gateway);
    await proxy.set(slow);
    const answer = await call({
      baseUrl: gateway.baseUrl,
      apiKey: gateway.apiKey,
      format: 'openai',
      prompt: `${'word '.repeat(characters / 5)}[[sim tokens=20 ttft=0 gap=0 seed=1]]`,
      stream: true,
    });
    expect([answer.status, answer.text]).toEqual([200, referenceText(1, 0, 20)]);
    expect(await gateway.metric('sluice_resends_total', { reason: 'missing' })).toBeGreaterThan(0);
    // It counts those after the first.
    expect(await gateway.metric('sluice_attempts_total')).toBe(0);
  } finally {
    await gateway.stop();
    await proxy.stop();
    await redis.stop();
  }
});

/**
 * Asks for a large answer while a small one is in the midst, and then again and again for further ones until the large
 * one has arrived. Expects all to be whole, each from one question.
 */
async function askForMuchBesideLittle({ gateway, server }: ChatGateway, baseUrl: string): Promise<void> {
  const arrived = Promise.withResolvers<void>();
  let asked = 0;
  server.answerWith(async (exchange) => {
    asked += 1;
    const prompt = JSON.stringify(exchange.request.body);
    if (prompt.includes('much')) await exchange.text('x'.repeat(characters));
    else if (prompt.includes('further')) await exchange.text('one more');
    else {
      await exchange.text('first ');
      await arrived.promise;
      await exchange.text('last');
    }
    await exchange.finish('stop');
  });
  const ask = (prompt: string) =>
    call({ baseUrl, apiKey: gateway.apiKey, model: 'chat', format: 'openai', prompt, stream: true });
  const beside = ask('little');
  await until(() => asked === 1);
  const further: ReturnType<typeof ask>[] = [];
  const asking = setInterval(() => further.push(ask('further')), 500);
  const large = await ask('much').finally(() => {
    clearInterval(asking);
    arrived.resolve();
  });
  expect([large.text.length, large.isComplete]).toEqual([characters, true]);
  expect(await beside).toMatchObject({ text: 'first last', isComplete: true });
  for (const answer of await Promise.all(further))
    expect(answer).toMatchObject({ status: 200, text: 'one more', isComplete: true });
  expect(asked).toBe(2 + further.length);
}

test('a part of an answer that is long on its way does not make its worker seem lost', async () => {
  const chat = await startChatGateway();
  const proxy = await startFaultProxy(Number(new URL(chat.gateway.redisUrl).port));
  try {
    await startWorkerBehind(proxy, chat.gateway);
    await proxy.set(slow);
    await askForMuchBesideLittle(chat, chat.gateway.baseUrl);
  } finally {
    await proxy.stop();
    await chat.stop();
  }
});

test('nor does one that is long on its way to its ingress make all workers seem lost there', async () => {
  const chat = await startChatGateway();
  const target = new URL(chat.gateway.redisUrl).port;
  // This process is busy with the large answer, twice, and an ingress whose commands wait for that gives Redis up.
  const proxy = await startProcess('test/delivery/slow-link.ts', {
    arguments: [target, String(slow.bytesPerSecond)],
  });
  const SLUICE_REDIS_URL = `redis://127.0.0.1:${proxy.ready.port}`;
  const ingress = await startProcess('apps/ingress/src/main.ts', {
    environment: { ...chat.gateway.environment, SLUICE_REDIS_URL },
  });
  try {
    await askForMuchBesideLittle(chat, `http://127.0.0.1:${ingress.ready.port}`);
  } finally {
    await ingress.stop();
    await proxy.stop();
    await chat.stop();
  }
});
