import { ask, type Topology, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, createBus } from './bus.ts';
import { createOrderSender, type Order, subscribeOrders } from './control.ts';
import { announceIngress, isIngressAlive, subscribeReplies } from './presence/ingress-presence.ts';
import {
  publishIngressNews,
  publishWorkerNews,
  subscribeIngressNews,
  subscribeWorkerNews,
  type WorkerNews,
} from './presence/presence.ts';
import type { InferenceJob } from './queue/job.ts';
import { JobConsumer } from './queue/job-consumer.ts';
import { createJobQueue, type JobQueue } from './queue/job-queue.ts';
import { type ConnectionProfile, connected, openRedis, type RedisClient } from './redis/connection.ts';
import { createQuietLine } from './redis/quiet-line.ts';
import { checkRedis } from './redis/redis-policy.ts';
import type { ReplyBatch } from './replies/frame.ts';
import { createReplyPublisher } from './replies/reply-publisher.ts';

/** A job as an ingress writes it. */
export function createJob(requestId: string, changes: Partial<InferenceJob> = {}): InferenceJob {
  return {
    version: 1,
    requestId,
    attempt: 1,
    replyTo: 'ingress',
    tenant: 'acme',
    model: 'simulated',
    enqueuedAt: 1,
    deadlineAt: 2_000_000_000_000,
    request: { model: 'simulated', messages: [], sampling: {} },
    ...changes,
  };
}

/** Connections of one test, closed after it. */
export class Connections {
  private readonly open: RedisClient[] = [];

  /** Resolves when it can take commands. */
  async connect(url: string, profile: ConnectionProfile): Promise<RedisClient> {
    const client = openRedis(url, { profile, name: `test-${profile}`, onError: () => undefined });
    this.open.push(client);
    await connected(client, AbortSignal.timeout(10_000));
    return client;
  }

  /** What an ingress (`command`) or a worker speaks and listens through. */
  async createBus(
    url: string,
    profile: 'command' | 'worker',
  ): Promise<{ bus: Bus; commands: RedisClient; subscriber: RedisClient }> {
    const commands = await this.connect(url, profile);
    const subscriber = await this.connect(url, 'subscriber');
    const hasLine = profile === 'worker' && commands instanceof Redis;
    const quiet = hasLine ? await this.connect(url, 'quiet') : undefined;
    const line = quiet instanceof Redis ? createQuietLine(quiet) : undefined;
    const onError = (error: unknown): never => {
      throw error;
    };
    const bus = createBus(commands, subscriber, onError, line);
    return { bus, commands, subscriber };
  }

  close(): void {
    for (const client of this.open.splice(0)) client.disconnect();
  }
}

/** All keys of all masters. */
async function keysOf({ nodes }: Topology): Promise<string[]> {
  const answers = await Promise.all(nodes.map(({ port }) => ask(port, 'KEYS', '*')));
  return [...new Set(answers.flatMap((answer): string[] => JSON.parse(answer)))];
}

/** The transport's contract, which holds on every topology. */
export function describeTransport(name: string, start: () => Promise<Topology>): void {
  describe(`the transport on a ${name} Redis`, () => {
    let topology: Topology;
    const connections = new Connections();
    const consumers: JobConsumer[] = [];

    beforeAll(async () => {
      topology = await start();
    }, 60_000);
    afterEach(async () => {
      await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
      connections.close();
    });
    afterAll(() => topology.stop());

    const createQueue = async (): Promise<JobQueue> =>
      createJobQueue(await connections.connect(topology.url, 'command'));
    const consume = async (
      pool: string,
      run: (job: InferenceJob, isAnnounced: boolean) => Promise<void>,
      slots = 4,
    ): Promise<JobConsumer> => {
      const redis = await connections.connect(topology.url, 'worker');
      const consumer = new JobConsumer({ pool, slots, redis, worker: 'w1', run, onError: () => undefined });
      consumers.push(consumer);
      consumer.start();
      return consumer;
    };

    it('is one that we can work with', async () => {
      await checkRedis(await connections.connect(topology.url, 'command'));
    });

    it('tells how many listen, and nobody means nobody', async () => {
      const { bus } = await connections.createBus(topology.url, 'command');
      expect(await bus.publish('sluice:test', 'lost')).toBe(0);
      const heard: string[] = [];
      await bus.subscribe('sluice:test', (text) => heard.push(text));
      expect(await bus.publish('sluice:test', 'found')).toBe(1);
      await until(() => heard.length > 0);
      expect(heard).toEqual(['found']);
      expect(bus.post('sluice:test', '字')).toBe(3);
      await until(() => heard.length > 1);
    });

    it('leads frames from a worker to the ingress that asked, and orders back', async () => {
      const ingress = await connections.createBus(topology.url, 'command');
      const worker = await connections.createBus(topology.url, 'worker');
      const batches: ReplyBatch[] = [];
      await subscribeReplies(ingress.bus, 'mine', (batch) => batches.push(batch));
      const orders: (Order & { ingress: string })[] = [];
      await subscribeOrders(worker.bus, 'w1', (order, from) => orders.push({ ...order, ingress: from }));

      const publisher = createReplyPublisher({
        bus: worker.bus,
        worker: 'w1',
        now: () => performance.now(),
        isIngressAlive: (id) => isIngressAlive(worker.commands, id),
      });
      const attempt = { requestId: 'r1', attempt: 1 };
      const writer = publisher.open({ ...attempt, replyTo: 'mine' });
      writer?.write({ type: 'text-delta', block: 0, text: 'hello', tokens: 1 });
      await until(() => batches.length === 1);
      expect(batches[0]).toEqual({
        worker: 'w1',
        claims: [attempt],
        frames: [
          { ...attempt, sequence: 0, events: [{ type: 'text-delta', block: 0, text: 'hello', tokens: 1 }] },
        ],
        running: [],
        gone: [],
      });

      const sender = createOrderSender(ingress.bus, 'mine');
      sender.send('w1', { kind: 'resend', ...attempt, sequence: 0 });
      sender.send('w1', { kind: 'cancel', ...attempt, sequence: 0 });
      await until(() => orders.length === 2);
      expect(orders.map(({ kind, ingress: from }) => [kind, from])).toEqual([
        ['resend', 'mine'],
        ['cancel', 'mine'],
      ]);
    });

    it('tells an ingress once who has claimed its job', async () => {
      const ingress = await connections.createBus(topology.url, 'command');
      const worker = await connections.createBus(topology.url, 'worker');
      const batches: ReplyBatch[] = [];
      await subscribeReplies(ingress.bus, 'mine', (batch) => batches.push(batch));
      const publisher = createReplyPublisher({
        bus: worker.bus,
        worker: 'w1',
        now: () => performance.now(),
        isIngressAlive: (id) => isIngressAlive(worker.commands, id),
      });
      const queue = await createQueue();
      await consume('announced', async (job, isAnnounced) => {
        publisher.open(job, isAnnounced)?.write({ type: 'finish', reason: 'stop', usage: {} });
      });
      await queue.enqueue('announced', createJob('r1', { replyTo: 'mine' }), 1);
      await until(() => batches.some(({ frames }) => frames.length > 0));
      const claimed = [{ worker: 'w1', claims: [{ requestId: 'r1', attempt: 1 }] }];
      expect(batches.filter(({ claims }) => claims.length > 0)).toMatchObject(claimed);
    });

    it('leads presence to every ingress, and a hello to every worker', async () => {
      const first = await connections.createBus(topology.url, 'command');
      const second = await connections.createBus(topology.url, 'command');
      const worker = await connections.createBus(topology.url, 'worker');
      const news: WorkerNews[] = [];
      await subscribeWorkerNews(first.bus, (item) => news.push(item));
      await subscribeWorkerNews(second.bus, (item) => news.push(item));
      const hellos: string[] = [];
      await subscribeIngressNews(worker.bus, ({ ingress }) => hellos.push(ingress));
      expect(await publishWorkerNews(worker.bus, { type: 'exited', worker: 'w9' })).toBe(2);
      expect(await publishIngressNews(first.bus, { type: 'hello', ingress: 'mine' })).toBe(1);
      await until(() => news.length === 2 && hellos.length === 1);
      expect(hellos).toEqual(['mine']);
      expect(news).toEqual(Array(2).fill({ v: 1, type: 'exited', worker: 'w9' }));
    });

    it('subscribes again after a cut, and says so', async () => {
      const { bus } = await connections.createBus(topology.url, 'command');
      const heard: string[] = [];
      const resubscribed: string[] = [];
      await bus.subscribe('sluice:cut', (text) => heard.push(text));
      bus.onResubscribed(() => resubscribed.push('again'));
      for (const { port } of topology.nodes) await ask(port, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
      await until(() => resubscribed.length > 0, { what: 'the subscription' });
      expect(bus.isUp()).toBe(true);
      await until(async () => (await bus.publish('sluice:cut', 'after')) === 1);
      await until(() => heard.length > 0);
      expect(heard[0]).toBe('after');
    });

    it('shows which ingress lives', async () => {
      const redis = await connections.connect(topology.url, 'command');
      expect(await isIngressAlive(redis, 'mine')).toBe(false);
      const stop = await announceIngress(redis, 'mine');
      expect(await isIngressAlive(redis, 'mine')).toBe(true);
      await stop();
      expect(await isIngressAlive(redis, 'mine')).toBe(false);
    });

    it('gives out jobs by priority, then by age, whole and once', async () => {
      const queue = await createQueue();
      const jobs: [string, number][] = [
        ['late', 9],
        ['first', 1],
        ['third', 5],
        ['fourth', 5],
        ['second', 2],
      ];
      for (const [id, priority] of jobs) await queue.enqueue('order', createJob(id), priority);
      expect(await queue.depth('order')).toBe(5);
      const taken: InferenceJob[] = [];
      await consume('order', async (job) => void taken.push(job), 1);
      await until(() => taken.length === 5);
      expect(taken.map(({ requestId }) => requestId)).toEqual(['first', 'second', 'third', 'fourth', 'late']);
      expect(taken[0]).toEqual({ ...createJob('first'), deadlineAt: expect.any(Number) });
      expect(await queue.depth('order')).toBe(0);
    });

    it('knows which attempts wait, and takes back what nobody has taken', async () => {
      const queue = await createQueue();
      await queue.enqueue('waiting', createJob('a'), 1);
      await queue.enqueue('waiting', createJob('a', { attempt: 2 }), 1);
      const attempts = [
        { requestId: 'a', attempt: 1 },
        { requestId: 'a', attempt: 2 },
        { requestId: 'b', attempt: 1 },
      ];
      expect(await queue.areWaiting('waiting', attempts)).toEqual([true, true, false]);
      await queue.remove('waiting', 'a', 1);
      await queue.remove('waiting', 'a', 1);
      expect(await queue.areWaiting('waiting', attempts)).toEqual([false, true, false]);
      expect(await queue.areWaiting('waiting', [])).toEqual([]);
      await queue.remove('waiting', 'a', 2);
    });

    it('leaves no prompt behind once a job is taken', async () => {
      const queue = await createQueue();
      for (let index = 0; index < 40; index += 1) await queue.enqueue('clean', createJob(`j${index}`), 1);
      let taken = 0;
      await consume('clean', async () => {
        taken += 1;
      });
      await until(() => taken === 40);
      await until(async () =>
        (await keysOf(topology)).every(
          (key) => !/inference-clean:(j|active|completed|failed|prioritized)/.test(key),
        ),
      );
    });

    it('leaves no prompt behind for longer than a minute past its deadline, where no worker comes', async () => {
      const commands = await connections.connect(topology.url, 'command');
      const queue = createJobQueue(commands);
      await queue.enqueue('deserted', createJob('a', { enqueuedAt: 5_000, deadlineAt: 15_000 }), 1);
      const keys = (await keysOf(topology)).filter((key) => key.includes('inference-deserted:a'));
      expect(keys).toHaveLength(1);
      const leftMs = await commands.pttl(keys[0] ?? '');
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(10_000 + 60_000);
      await queue.remove('deserted', 'a', 1);
    });
  });
}
