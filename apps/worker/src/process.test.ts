import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ask, startProcess, startRedis, until } from '@sluice/testing';
import {
  createJobQueue,
  openLinks,
  publishHello,
  type Running,
  subscribeNews,
  subscribeReplies,
} from '@sluice/transport';
import { expect, it } from 'vitest';

const openObserver = (url: string) =>
  openLinks(url, {
    name: 'ingress',
    profile: 'command',
    onConnectionError: () => undefined,
    onBadMessage: (error) => {
      throw error;
    },
  });

it('a worker tells where its answers stand to whoever says hello, and to all once it hears them again', async () => {
  await using redis = await startRedis({ own: true });
  await using _worker = await startProcess('apps/worker/src/main.ts', {
    environment: { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: '0' },
  });
  const links = await openObserver(redis.url);
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

it('a worker that cannot open its operations port ends before anybody has heard of it', async () => {
  await using redis = await startRedis({ own: true });
  const links = await openObserver(redis.url);
  const heard: string[] = [];
  await subscribeNews(links.bus, ({ worker }) => heard.push(worker));
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const SLUICE_OPS_PORT = String((other.address() as AddressInfo).port);
  const start = (port: string) =>
    startProcess('apps/worker/src/main.ts', {
      environment: { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: port },
    });
  await expect(start(SLUICE_OPS_PORT)).rejects.toThrow(/another process has it/);
  // What the first said would have come before.
  await using _worker = await start('0');
  await until(() => heard.length > 0, { what: 'the second worker' });
  expect(new Set(heard).size).toBe(1);
  other.close();
  links.close();
});
