import { expect, it } from 'vitest';
import { FakeBus } from '../fake-bus.ts';
import { ingressesChannel, workersChannel } from '../names.ts';
import {
  type IngressNews,
  publishIngressNews,
  publishWorkerNews,
  subscribeIngressNews,
  subscribeWorkerNews,
  type WorkerNews,
} from './presence.ts';

it('the news of a process of another version is ignored', async () => {
  const bus = new FakeBus();
  const heard: (WorkerNews | IngressNews)[] = [];
  await subscribeWorkerNews(bus, (news) => heard.push(news));
  await subscribeIngressNews(bus, (news) => heard.push(news));
  for (const text of [
    'null',
    '[]',
    '{"type":"exited","worker":"w0","ingress":"i0"}',
    '{"v":2,"type":"hello","ingress":"i0"}',
  ]) {
    await bus.publish(workersChannel, text);
    await bus.publish(ingressesChannel, text);
  }
  await bus.publish(ingressesChannel, '{"v":1,"type":"hello"}');
  await bus.publish(ingressesChannel, '{"v":1,"type":"later","ingress":"i0"}');
  expect(heard).toEqual([]);
  await publishWorkerNews(bus, { type: 'exited', worker: 'w1' });
  await publishIngressNews(bus, { type: 'hello', ingress: 'i1' });
  await publishIngressNews(bus, { type: 'farewell', ingress: 'i1' });
  expect(heard).toMatchObject([
    { type: 'exited', worker: 'w1' },
    { type: 'hello', ingress: 'i1' },
    { type: 'farewell', ingress: 'i1' },
  ]);
});
