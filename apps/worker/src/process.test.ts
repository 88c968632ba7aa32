import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ask, startProcess, startRedis, until } from '@sluice/testing';
import {
  announceIngress,
  createJobQueue,
  createOrderSender,
  type Frame,
  type InferenceJob,
  openLinks,
  publishIngressNews,
  type Running,
  subscribeReplies,
  subscribeWorkerNews,
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

/** A job of ingress `i` for the simulated model. */
const createJob = (prompt: string): InferenceJob => ({
  version: 1,
  ...{ requestId: 'r', attempt: 1, replyTo: 'i', tenant: 't', model: 'sim' },
  ...{ enqueuedAt: Date.now(), deadlineAt: Date.now() + 600_000 },
  request: {
    ...{ model: 'sim', sampling: {} },
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
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
  await queue.enqueue('sim', createJob('[[sim tokens=5 ttft=0 stall@1]]'), 1);
  await until(() => told.length > 0, { what: 'the first heartbeat' });

  // An answer that stands still is told by one heartbeat of ten, once in five seconds.
  const toldBefore = told.length;
  const hellos = 20;
  const hello = { type: 'hello', ingress: 'i' } as const;
  for (let count = 0; count < hellos; count += 1) await publishIngressNews(links.bus, hello);
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

it.each(['says farewell', 'cancels it'])(
  'a worker that ends keeps an answer for its ingress only until that %s',
  async (deed) => {
    await using redis = await startRedis({ own: true });
    const links = await openObserver(redis.url);
    // Otherwise it would be taken for dead.
    const hideIngress = await announceIngress(links.commands, 'i');
    let isClosing = false;
    await subscribeWorkerNews(links.bus, (news) => {
      isClosing ||= news.type === 'presence' && Object.values(news.pools).every(({ slots }) => slots === 0);
    });
    const ends: Frame[] = [];
    let id = '';
    await subscribeReplies(links.bus, 'i', ({ worker: its, frames }) => {
      id = its;
      ends.push(...frames.filter(({ events }) => events.some(({ type }) => type === 'finish')));
    });
    await using worker = await startProcess('apps/worker/src/main.ts', {
      environment: { SLUICE_REDIS_URL: redis.url, SLUICE_OPS_PORT: '0' },
    });
    const queue = createJobQueue(links.commands);
    await queue.enqueue('sim', createJob('[[sim tokens=1 ttft=0]]'), 1);
    await until(() => ends.length > 0, { what: 'the answer' });

    const exit = worker.stop();
    await until(() => isClosing, { what: 'the begin of the drain' });
    if (deed === 'says farewell') await publishIngressNews(links.bus, { type: 'farewell', ingress: 'i' });
    else
      createOrderSender(links.bus, 'i').send(id, { kind: 'cancel', requestId: 'r', attempt: 1, sequence: 0 });
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(worker.lines.join()).not.toContain('drain limit');
    await hideIngress();
    await queue.close();
    links.close();
  },
);

it('a worker that cannot open its operations port ends before anybody has heard of it', async () => {
  await using redis = await startRedis({ own: true });
  const links = await openObserver(redis.url);
  const heard: string[] = [];
  await subscribeWorkerNews(links.bus, ({ worker }) => heard.push(worker));
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
