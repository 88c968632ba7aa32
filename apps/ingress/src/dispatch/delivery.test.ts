import { createIngressMetrics, createLogger } from '@sluice/runtime';
import { ask, startRedis, until } from '@sluice/testing';
import {
  type Attempt,
  type Frame,
  type IngressNews,
  type Order,
  openLinks,
  subscribeIngressNews,
  subscribeOrders,
} from '@sluice/transport';
import { expect, it, vi } from 'vitest';
import { openDelivery } from './delivery.ts';

it('an ingress whose subscription was cut asks at once for what it missed, and tells what it has, and that it ends', async () => {
  await using redis = await startRedis({ own: true });
  const open = (name: string) =>
    openLinks(redis.url, {
      name,
      profile: 'command',
      onConnectionError: () => undefined,
      onBadMessage: (error) => {
        throw error;
      },
    });
  const [links, worker] = [await open('ingress'), await open('worker')];
  const news: IngressNews[] = [];
  const hello = { type: 'hello', ingress: 'i' };
  const orders: Order[] = [];
  await subscribeIngressNews(worker.bus, (item) => news.push(item));
  await subscribeOrders(worker.bus, 'w', (order) => orders.push(order));

  const closers: (() => Promise<void>)[] = [];
  const { dispatcher } = await openDelivery(links, {
    ingress: 'i',
    lifecycle: { onDrain: (_name, step) => closers.push(() => step(AbortSignal.abort())) },
    metrics: createIngressMetrics(),
    logger: createLogger({ name: 'test', destination: { write: () => undefined } }),
  });
  await until(() => news.length === 1);
  const clients = await ask(redis.port, 'CLIENT', 'LIST');
  const id = /id=(\d+)(?: (?!name=)\S+)* name=ingress-subscriber /.exec(clients)?.[1] ?? '';
  const nothing = () => undefined;
  const generation = dispatcher.open({
    ...{ requestId: 'r', pool: 'p', isPlainText: true, readerFormat: 'openai', hasShown: () => true },
    job: {
      version: 1,
      ...{ requestId: 'r', replyTo: 'i', tenant: 't', model: 'm' },
      deadlineAt: Number.MAX_SAFE_INTEGER,
      request: { model: 'm', messages: [], sampling: {} },
    },
    enter: async () => undefined,
    ...{ onEvents: nothing, onWorkerDone: nothing, onClaimed: nothing, onAnotherAttempt: nothing },
  });
  await generation.begin();
  const attempt = { requestId: 'r', attempt: 1 };
  const say = (claims: Attempt[], frames: Frame[] = []) =>
    dispatcher.receive({ worker: 'w', claims, frames, running: [], gone: [] });
  // It is heard to run, so that nobody asks for it before long without a cut.
  dispatcher.receive({ worker: 'w', claims: [], frames: [], running: [{ ...attempt, next: 0 }], gone: [] });

  await ask(redis.port, 'CLIENT', 'KILL', 'ID', id);
  await until(() => {
    // A silent worker would be lost.
    say([]);
    return orders.length > 0 && news.length > 1;
  });
  expect(orders).toEqual([{ kind: 'resend', ...attempt, sequence: 0 }]);
  expect(news).toEqual([hello, hello]);
  // A worker that drains waits until it is told that the end has arrived.
  say([], [{ ...attempt, sequence: 0, events: [{ type: 'finish', reason: 'stop', usage: {} }] }]);
  for (const close of closers.reverse()) await close();
  links.close();
  await until(() => orders.length > 1 && news.length > 2);
  expect(orders.slice(1)).toEqual([{ kind: 'acknowledge', ...attempt, sequence: 1 }]);
  expect(news.slice(2)).toEqual([{ type: 'farewell', ingress: 'i' }]);
  worker.close();
});

it('a worker that fell silent and is heard again is lost once, and its silence counts for less', async () => {
  // Workers of other tests would be heard at a shared server.
  await using redis = await startRedis({ own: true });
  const links = await openLinks(redis.url, {
    name: 'ingress',
    profile: 'command',
    onConnectionError: () => undefined,
    onBadMessage: () => undefined,
  });
  const lines: string[] = [];
  const closers: (() => Promise<void>)[] = [];
  const { dispatcher } = await openDelivery(links, {
    ingress: 'silence',
    lifecycle: { onDrain: (_name, step) => closers.push(() => step(AbortSignal.abort())) },
    metrics: createIngressMetrics(),
    logger: createLogger({ name: 'test', destination: { write: (line) => lines.push(line) } }),
  });
  const told = vi.spyOn(dispatcher, 'heardAgain');
  const messages = () => lines.map((line) => JSON.parse(line).msg);
  const say = () => dispatcher.receive({ worker: 'w', claims: [], frames: [], running: [], gone: [] });
  say();
  await until(() => messages().includes('worker lost'));
  say();
  say();
  expect(messages()).toEqual(['worker lost', 'worker is heard again']);
  expect(told.mock.calls).toEqual([['w']]);
  for (const close of closers.reverse()) await close();
  links.close();
});
