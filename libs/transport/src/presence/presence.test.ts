import { expect, it } from 'vitest';
import { FakeBus } from '../fake-bus.ts';
import { ingressesChannel, workersChannel } from '../names.ts';
import { publishHello, publishNews, subscribeHello, subscribeNews, type WorkerNews } from './presence.ts';

it('the news of a worker of another version is ignored', async () => {
  const bus = new FakeBus();
  const heard: (WorkerNews | string)[] = [];
  await subscribeNews(bus, (news) => heard.push(news));
  await subscribeHello(bus, (ingress) => heard.push(ingress));
  for (const text of [
    'null',
    '[]',
    '{"type":"exited","worker":"w0","ingress":"i0"}',
    '{"v":2,"ingress":"i0"}',
  ]) {
    await bus.publish(workersChannel, text);
    await bus.publish(ingressesChannel, text);
  }
  await bus.publish(ingressesChannel, '{"v":1,"type":"hello"}');
  expect(heard).toEqual([]);
  await publishNews(bus, { type: 'exited', worker: 'w1' });
  await publishHello(bus, 'i1');
  expect(heard).toMatchObject([{ type: 'exited', worker: 'w1' }, 'i1']);
});
