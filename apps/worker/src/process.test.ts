import { ask, startProcess, startRedis, until } from '@sluice/testing';
import { createJobQueue, openLinks, publishHello, type Running, subscribeReplies } from '@sluice/transport';
import { expect, it } from 'vitest';

it('a worker tells where its answers stand to whoever says hello, and to all once it hears them again', async () => {
  await using redis = await startRedis({ own: true });
  await using _worker = await startProcess('apps/worker/src/main.ts', {
    environment: { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: '0' },
  });
  const links = await openLinks(redis.url, {
    name: 'ingress',
    profile: 'command',
    onConnectionError: () => undefined,
    onBadMessage: (error) => {
      throw error;
    },
  });
  const told: Running[] = [];
  let worker = '';
  await subscribeReplies(links.bus, 'i', (batch) => {
    worker = batch.worker;
    told.push(...batch.running);
  });
  const queue = createJobQueue(links.commands);
  const prompt = '[[sim tokens=5 ttft=0 stall@1]]';
  await queue.enqueue(
    'sim',
    {
      version: 1,
      ...{ requestId: 'r', attempt: 1, replyTo: 'i', tenant: 't', model: 'sim' },
      ...{ enqueuedAt: Date.now(), deadlineAt: Date.now() + 600_000 },
      request: {
        ...{ model: 'sim', sampling: {} },
        messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
      },
    },
    1,
  );
  await until(() => told.length > 0, { what: 'the first heartbeat' });

  // An answer that stands still is told by one heartbeat of ten, once in five seconds.
  const toldBefore = told.length;
  const hellos = 20;
  for (let count = 0; count < hellos; count += 1) await publishHello(links.bus, 'i');
  await until(() => told.length >= toldBefore + hellos, { what: 'an answer to every hello' });

  let wanted = told.length;
  const wantedInTheEnd = wanted + 6;
  await until(
    async () => {
      if (told.length < wanted) return false;
      wanted = told.length + 1;
      const clients = await ask(redis.port, 'CLIENT', 'LIST');
      const pattern = new RegExp(`id=(\\d+)(?: (?!name=)\\S+)* name=${worker}-subscriber `);
      const id = pattern.exec(clients)?.[1] ?? '';
      await ask(redis.port, 'CLIENT', 'KILL', 'ID', id);
      return wanted > wantedInTheEnd;
    },
    { what: 'a word after every cut' },
  );
  expect(new Set(told.map(({ requestId, attempt }) => `${requestId} ${attempt}`))).toEqual(new Set(['r 1']));
  await queue.close();
  links.close();
});
