import { once } from 'node:events';
import {
  ask,
  type ClusterTopology,
  type OwnTestRedis,
  startCluster,
  startSentinel,
  startSingle,
  type Topology,
  until,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isIngressAlive } from './presence/ingress-presence.ts';
import { JobConsumer } from './queue/job-consumer.ts';
import { createJobQueue } from './queue/job-queue.ts';
import { openRedis, type RedisClient } from './redis/connection.ts';
import { Connections, createJob } from './transport-suite.ts';

// Servers are killed and started again here, on machines that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });
/** A replica needs seconds to take over. A sentinel that got no processor time refuses to act for half a minute. */
const takeOverLimitMs = 90_000;

const connections = new Connections();
let topology: Topology;
afterEach(async () => {
  connections.close();
  await topology.stop();
});

const first = () => {
  const [node] = topology.nodes;
  if (!node) throw new TypeError('a topology without a node');
  return node;
};

describe('while the only Redis is away', () => {
  beforeEach(async () => {
    topology = await startSingle();
  });

  it('a command fails at once, and works again when Redis is back', async () => {
    const commands = await connections.connect(topology.url, 'command');
    const queue = createJobQueue(commands);
    await first().down();
    await expect(queue.enqueue('fast', createJob('a'), 1)).rejects.toMatchObject({
      kind: 'unavailable',
      options: { retryAfterMs: 1_000 },
    });
    await expect(isIngressAlive(commands, 'x')).rejects.toThrow();
    await expect(queue.depth('fast')).rejects.toMatchObject({ kind: 'unavailable' });
    await first().up();
    await until(() => commands.status === 'ready');
    // The new server does not know the scripts that the old one had loaded.
    await queue.enqueue('fast', createJob('a'), 1);
    expect(await queue.depth('fast')).toBe(1);
  });

  it('a command to a frozen Redis fails in time', async () => {
    const commands = await connections.connect(topology.url, 'command');
    const queue = createJobQueue(commands);
    await queue.depth('frozen');
    first().suspend();
    await expect(queue.enqueue('frozen', createJob('a'), 1)).rejects.toMatchObject({ kind: 'unavailable' });
    first().resume();
    await until(() => queue.depth('frozen').then(() => true));
  });

  it('a frozen Redis is reported as an outage, and not as a defect', async () => {
    const told: Error[] = [];
    const onError = (error: Error) => void told.push(error);
    const commands = openRedis(topology.url, { profile: 'command', name: 'told', onError });
    await until(() => commands.status === 'ready');
    first().suspend();
    await until(() => told.length > 0);
    expect(told[0]).toMatchObject({ kind: 'unavailable', message: 'redis said nothing for 800 ms' });
    first().resume();
    commands.disconnect();
  });

  it('a command is answered even if our own process stood still for longer than the limit', async () => {
    const commands = await connections.connect(topology.url, 'command');
    const answer = commands.ping();
    const end = performance.now() + 1_500;
    while (performance.now() < end);
    expect(await answer).toBe('PONG');
  });

  it('a subscription is kept even if our own process stood still for longer than the limit', async () => {
    const subscriber = await connections.connect(topology.url, 'subscriber');
    let cuts = 0;
    subscriber.on('close', () => {
      cuts += 1;
    });
    const answer = subscriber.ping();
    const end = performance.now() + 3_200;
    while (performance.now() < end);
    await answer;
    expect(cuts).toBe(0);
  });

  it('a subscription waits, and is renewed by itself', async () => {
    const { bus } = await connections.createBus(topology.url, 'command');
    const heard: string[] = [];
    let times = 0;
    await bus.subscribe('sluice:again', (text) => heard.push(text));
    bus.onResubscribed(() => {
      times += 1;
    });
    await first().down();
    await until(() => !bus.isUp() && !bus.canPublish());
    await first().up();
    await until(() => times === 1);
    await until(() => bus.canPublish());
    expect(await bus.publish('sluice:again', 'back')).toBe(1);
    await until(() => heard.length === 1);
  });

  it('a bus knows that a frozen Redis delivers nothing, although the connection is open', async () => {
    const { bus, subscriber } = await connections.createBus(topology.url, 'worker');
    await bus.subscribe('sluice:still', () => undefined);
    first().suspend();
    await until(() => !bus.isUp() && !bus.isReached());
    expect(subscriber.status).toBe('ready');
    first().resume();
    await until(() => bus.isUp() && bus.isReached());
  });

  it('a worker waits, and takes jobs again by itself', async () => {
    const queue = createJobQueue(await connections.connect(topology.url, 'command'));
    const taken: string[] = [];
    const errors: Error[] = [];
    const consumer = new JobConsumer({
      pool: 'patient',
      slots: 2,
      redis: await connections.connect(topology.url, 'worker'),
      run: async (job) => void taken.push(job.requestId),
      onError: (error) => errors.push(error),
    });
    consumer.start();
    await queue.enqueue('patient', createJob('before'), 1);
    await until(() => taken.length === 1);
    for (const round of [1, 2]) {
      await first().restart();
      await until(() => queue.enqueue('patient', createJob(`after${round}`), 1).then(() => true));
      await until(() => taken.includes(`after${round}`));
    }
    expect(new Set(taken).size).toBe(taken.length);
    await until(() => consumer.busy <= 1, { what: 'the slots to be free' });
    await consumer.stop();
  });

  it('a worker can still stop', async () => {
    const consumer = new JobConsumer({
      pool: 'stopping',
      slots: 2,
      redis: await connections.connect(topology.url, 'worker'),
      run: async () => undefined,
      onError: () => undefined,
    });
    consumer.start();
    await first().down();
    await consumer.stop();
  });
});

describe('when a replica behind sentinels takes over', () => {
  beforeEach(async () => {
    topology = await startSentinel({ downAfterMs: 500 });
  });

  it('commands, subscriptions and workers move to it', async () => {
    const { bus, commands } = await connections.createBus(topology.url, 'command');
    const queue = createJobQueue(commands);
    const heard: string[] = [];
    await bus.subscribe('sluice:failover', (text) => heard.push(text));
    const taken: string[] = [];
    const consumer = new JobConsumer({
      pool: 'failover',
      slots: 1,
      redis: await connections.connect(topology.url, 'worker'),
      run: async (job) => void taken.push(job.requestId),
      onError: () => undefined,
    });
    consumer.start();
    await queue.enqueue('failover', createJob('before'), 1);
    await until(() => taken.length === 1);
    await first().down();
    const add = (): Promise<boolean> => queue.enqueue('failover', createJob('after'), 1).then(() => true);
    await until(add, { timeoutMs: takeOverLimitMs, what: 'the replica to take a job' });
    await until(() => taken.length >= 2, { timeoutMs: takeOverLimitMs, what: 'the worker to take it' });
    await until(async () => (await bus.publish('sluice:failover', 'new master')) === 1, {
      timeoutMs: takeOverLimitMs,
      what: 'the subscription to be on the new master',
    });
    await until(() => heard.length > 0);
    await consumer.stop();
  });
});

describe('when sentinels replace a master that everybody else can still reach', () => {
  beforeEach(async () => {
    topology = await startSentinel({ downAfterMs: 500 });
  });

  it('commands and subscriptions leave it for its successor', async () => {
    const { bus, commands } = await connections.createBus(topology.url, 'worker');
    let times = 0;
    bus.onResubscribed(() => {
      times += 1;
    });
    await bus.subscribe('sluice:replaced', () => undefined);
    const [, successor] = topology.nodes;
    // A new password leaves open connections as they are. The sentinel's are cut, and it cannot open them again.
    await commands.call('CONFIG', 'SET', 'requirepass', 'unknown to the sentinel');
    const list = String(await commands.call('CLIENT', 'LIST'));
    for (const [, id = ''] of list.matchAll(/^id=(\d+) .* name=sentinel-/gm)) {
      await commands.call('CLIENT', 'KILL', 'ID', id);
    }
    await until(() => times === 1, { timeoutMs: takeOverLimitMs, what: 'the subscription to move' });
    await until(async () =>
      String(await commands.call('CONFIG', 'GET', 'port')).endsWith(`${successor?.port}`),
    );
    expect(await bus.publish('sluice:replaced', 'to the successor')).toBe(1);
  });
});

describe('when one master of a cluster is away', () => {
  beforeEach(async () => {
    topology = await startCluster();
  });

  it('a bus knows that its subscription there is down, and renews it when the master is back', async () => {
    const { bus } = await connections.createBus(topology.url, 'command');
    const heard: string[] = [];
    let times = 0;
    // Enough channels for each master to carry some.
    const channels = Array.from({ length: 12 }, (_, index) => `sluice:shard:${index}`);
    for (const channel of channels) await bus.subscribe(channel, (text) => heard.push(text));
    bus.onResubscribed(() => {
      times += 1;
    });
    const before = times;
    await first().down();
    await until(() => !bus.isUp());
    await first().up();
    await until(() => bus.isUp() && times > before, { timeoutMs: 30_000 });
    for (const channel of channels) {
      await until(() => bus.publish(channel, channel).then((receivers) => receivers === 1), {
        timeoutMs: 30_000,
      });
    }
    await until(() => channels.every((channel) => heard.includes(channel)));
  });

  it('a bus knows that a frozen master delivers nothing, for as long as that lasts', async () => {
    const { bus, subscriber } = await connections.createBus(topology.url, 'command');
    await bus.subscribe(await channelOf(first()), () => undefined);
    await until(() => bus.isUp());
    const given = once(subscriber, '-node');
    first().suspend();
    await until(() => !bus.isUp());
    // The connection on which it is asked is given up for its silence, and later the next one, too.
    await given;
    expect(bus.isUp()).toBe(false);
    const again = once(subscriber, '-node');
    await Promise.race([again, until(() => bus.isUp(), { timeoutMs: 60_000 }).catch(() => undefined)]);
    expect(bus.isUp()).toBe(false);
    first().resume();
    await until(() => bus.isUp(), { timeoutMs: 30_000 });
  });

  it('a bus knows that a master delivers nothing that makes writers wait, although it answers', async () => {
    const { bus } = await connections.createBus(topology.url, 'command');
    await bus.subscribe(await channelOf(first()), () => undefined);
    await until(() => bus.isUp());
    await ask(first().port, 'CLIENT', 'PAUSE', '60000', 'WRITE');
    await until(() => !bus.isUp());
    await ask(first().port, 'CLIENT', 'UNPAUSE');
    await until(() => bus.isUp(), { timeoutMs: 30_000 });
  });

  it('a master that refuses the question for a sign of life counts as alive', async () => {
    const { bus } = await connections.createBus(topology.url, 'command');
    await bus.subscribe(await channelOf(first()), () => undefined);
    await until(() => bus.isUp());
    const { port } = first();
    await ask(port, 'ACL', 'SETUSER', 'default', '-eval');
    const refusals = async () =>
      Number(/NOPERM:count=(\d+)/.exec(await ask(port, 'INFO', 'errorstats'))?.[1]);
    await until(async () => (await refusals()) >= 3, { timeoutMs: 30_000 });
    expect(bus.isUp()).toBe(true);
  });

  it('a bus whose channels are on other masters stays up while one is frozen', async () => {
    const { bus, subscriber } = await connections.createBus(topology.url, 'command');
    const [, second] = topology.nodes;
    if (!second) throw new TypeError('a cluster of one');
    await bus.subscribe(await channelOf(second), () => undefined);
    await until(() => bus.isUp());
    first().suspend();
    const still = first();
    await expect(ask(still.port, 'PING')).rejects.toThrow();
    expect(subscriber.status).toBe('ready');
    expect(bus.isUp()).toBe(true);
    still.resume();
  });

  /** A channel in a slot of this master. */
  async function channelOf({ port }: OwnTestRedis): Promise<string> {
    const last = [5_460, 10_922, 16_383][topology.nodes.findIndex((node) => node.port === port)] ?? 0;
    for (let number = 0; ; number += 1) {
      const slot = Number(await ask(port, 'CLUSTER', 'KEYSLOT', `sluice:still:${number}`));
      if (slot <= last && slot > last - 5_461) return `sluice:still:${number}`;
    }
  }

  it('and then all masters are, subscriptions are renewed when they are back', async () => {
    const { bus } = await connections.createBus(topology.url, 'command');
    const channels = Array.from({ length: 12 }, (_, index) => `sluice:shard:${index}`);
    for (const channel of channels) await bus.subscribe(channel, () => undefined);
    let times = 0;
    bus.onResubscribed(() => {
      times += 1;
    });
    for (const node of topology.nodes) await node.down();
    await until(() => !bus.isUp(), { what: 'the bus to notice' });
    const before = times;
    await Promise.all(topology.nodes.map((node) => node.up()));
    await until(() => bus.isUp() && times > before, { timeoutMs: 40_000, what: 'the bus to be up' });
    for (const channel of channels) {
      await until(() => bus.publish(channel, 'after').then((receivers) => receivers === 1), {
        timeoutMs: 30_000,
        what: `somebody to listen on ${channel}`,
      });
    }
  });

  it('a command to it fails in time, and works again when it is back', async () => {
    const commands = await connections.connect(topology.url, 'command');
    const queue = createJobQueue(commands);
    const pools = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const pool of pools) await queue.enqueue(pool, createJob('before'), 1);
    await first().down();
    const outcomes = await Promise.allSettled(
      pools.map((pool) => queue.enqueue(pool, createJob('during'), 1)),
    );
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    await first().up();
    for (const pool of pools) {
      await until(() => queue.enqueue(pool, createJob('after'), 1).then(() => true), { timeoutMs: 30_000 });
    }
  });

  describe('the outage and its end are reported, each once,', () => {
    const told: string[] = [];
    let commands: RedisClient;
    beforeEach(async () => {
      told.length = 0;
      commands = openRedis(topology.url, {
        profile: 'command',
        name: 'told',
        onError: (error) => told.push(error.message),
        onRecovery: () => told.push('back'),
      });
      await until(() => commands.status === 'ready');
    });
    afterEach(() => commands.disconnect());

    it('if it refuses to write', async () => {
      await ask(first().port, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
      await until(() => told.length > 0);
      await ask(first().port, 'CONFIG', 'SET', 'min-replicas-to-write', '0');
      await until(() => told.length > 1);
      expect(told).toEqual([
        expect.stringMatching(`^the master at 127.0.0.1:${first().port}: NOREPLICAS`),
        'back',
      ]);
    });

    it('if it is dead', async () => {
      await first().down();
      await until(() => told.length > 0);
      await first().up();
      await until(() => told.length > 1, { timeoutMs: 30_000 });
      expect(told).toEqual([expect.stringContaining(`the master at 127.0.0.1:${first().port}: `), 'back']);
    });

    it('if it is frozen', async () => {
      first().suspend();
      await until(() => told.length > 0, { timeoutMs: 30_000 });
      first().resume();
      await until(() => told.length > 1, { timeoutMs: 30_000 });
      expect(told).toEqual([expect.stringContaining(`the master at 127.0.0.1:${first().port}: `), 'back']);
    });
  });

  it('many commands to a frozen master all fail before they run out of redirections', async () => {
    const commands = await connections.connect(topology.url, 'command');
    const key = await channelOf(first());
    first().suspend();
    const refusals: string[] = [];
    const askTimes = async (times: number): Promise<void> => {
      for (let count = 0; count < times; count += 1) {
        await commands.set(key, '').catch((error: Error) => refusals.push(error.message));
      }
    };
    // Commands that come while the connection to it closes fail because of that, and ioredis sends them again.
    await Promise.all(Array.from({ length: 24 }, () => askTimes(3)));
    first().resume();
    expect(refusals).toHaveLength(24 * 3);
    expect(refusals.filter((message) => /redirections/.test(message))).toEqual([]);
  });

  it('a command to a frozen master is not tried on a second connection', async () => {
    const commands = await connections.connect(topology.url, 'command');
    const queue = createJobQueue(commands);
    const pools = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const pool of pools) await queue.enqueue(pool, createJob('before'), 1);
    let tries = 0;
    commands.on('+node', () => {
      tries += 1;
    });
    first().suspend();
    const outcomes = await Promise.allSettled(
      pools.map((pool) => queue.enqueue(pool, createJob('during'), 1)),
    );
    // Each try takes a new connection to the frozen master.
    const triedUntilThen = tries;
    first().resume();
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(reasons[0]).toMatchObject({
      kind: 'unavailable',
      message: 'the queue is not reachable',
      options: { refusedBy: 'redis' },
    });
    expect(triedUntilThen).toBeLessThanOrEqual(1);
    for (const pool of pools) {
      await until(() => queue.enqueue(pool, createJob('after'), 1).then(() => true), { timeoutMs: 30_000 });
    }
  });
});

describe('when a slot of a cluster moves to another master', () => {
  beforeEach(async () => {
    topology = await startCluster();
  });

  it('its subscriptions and its queues move along', async () => {
    const { bus, commands } = await connections.createBus(topology.url, 'command');
    const queue = createJobQueue(commands);
    const heard: string[] = [];
    let times = 0;
    bus.onResubscribed(() => {
      times += 1;
    });
    await bus.subscribe('sluice:{p:moved}', (text) => heard.push(text));
    await until(() => bus.isUp());
    const before = times;
    await queue.enqueue('moved', createJob('before'), 1);
    const slot = await ask(first().port, 'CLUSTER', 'KEYSLOT', '{p:moved}');
    const { from, to } = mastersAround(Number(slot));
    const newOwner: string = JSON.parse(await ask(to.port, 'CLUSTER', 'MYID'));
    await ask(
      to.port,
      'CLUSTER',
      'SETSLOT',
      slot,
      'IMPORTING',
      JSON.parse(await ask(from.port, 'CLUSTER', 'MYID')),
    );
    await ask(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', newOwner);
    const keys: string[] = JSON.parse(await ask(from.port, 'CLUSTER', 'GETKEYSINSLOT', slot, '100'));
    await ask(from.port, 'MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys);
    // The subscription ends at the old owner, before the other nodes have heard of the move.
    for (const { port } of [from, to, ...topology.nodes])
      await ask(port, 'CLUSTER', 'SETSLOT', slot, 'NODE', newOwner);
    await until(() => times > before && bus.isUp(), { timeoutMs: 30_000, what: 'the subscription to move' });
    expect(await bus.publish('sluice:{p:moved}', 'after')).toBe(1);
    await until(() => heard.includes('after'));
    await queue.enqueue('moved', createJob('after'), 1);
    expect(await queue.depth('moved')).toBe(2);
  });

  /** The master that owns a slot, and another one. */
  function mastersAround(slot: number): { from: OwnTestRedis; to: OwnTestRedis } {
    const owner = [5460, 10922, 16383].findIndex((last) => slot <= last);
    const [from, to] = [topology.nodes[owner], topology.nodes[(owner + 1) % 3]];
    if (!from || !to) throw new TypeError('a cluster has three masters');
    return { from, to };
  }
});

describe('when a replica of a cluster takes over', () => {
  let cluster: ClusterTopology;
  beforeEach(async () => {
    cluster = await startCluster({ replicas: 1 });
    topology = cluster;
  });
  /** Their masters fail one after the other, so that the second failover meets clients that have already moved. */
  const shards = [0, 1];

  it('subscriptions move to each new master, and the bus says so', async () => {
    const { bus } = await connections.createBus(topology.url, 'command');
    const channels = Array.from({ length: 12 }, (_, index) => `sluice:shard:${index}`);
    const heard = new Set<string>();
    for (const channel of channels) await bus.subscribe(channel, (text) => heard.add(text));
    let times = 0;
    bus.onResubscribed(() => {
      times += 1;
    });
    for (const shard of shards) {
      const before = times;
      const master = await cluster.masterOf(shard);
      await master.down();
      await until(() => bus.isUp() && times > before, {
        timeoutMs: takeOverLimitMs,
        what: 'the subscriptions to be on the new master',
      });
      // From then on, no message is lost.
      const said = channels.map((channel) => `${channel} after ${shard}`);
      const receivers = await Promise.all(
        channels.map((channel, index) => bus.publish(channel, said[index] ?? '')),
      );
      expect(receivers).toEqual(channels.map(() => 1));
      await until(() => said.every((text) => heard.has(text)), { what: 'the messages' });
      await master.up();
      await cluster.settled();
    }
  });

  it('commands and workers move to it', async () => {
    const queue = createJobQueue(await connections.connect(topology.url, 'command'));
    const pools = ['a', 'b', 'c', 'd', 'e', 'f'];
    const taken = new Set<string>();
    const redis = await connections.connect(topology.url, 'worker');
    const consumers = pools.map(
      (pool) =>
        new JobConsumer({
          ...{ pool, slots: 1, redis, onError: () => undefined },
          run: async ({ requestId }) => void taken.add(`${pool} ${requestId}`),
        }),
    );
    for (const consumer of consumers) consumer.start();
    for (const shard of shards) {
      const master = await cluster.masterOf(shard);
      await master.down();
      for (const pool of pools) {
        const add = () => queue.enqueue(pool, createJob(`after-${shard}`), 1).then(() => true);
        await until(add, { timeoutMs: takeOverLimitMs, what: `pool ${pool} to take a job` });
      }
      await until(() => pools.every((pool) => taken.has(`${pool} after-${shard}`)), {
        timeoutMs: takeOverLimitMs,
        what: 'the workers to take every job',
      });
      await master.up();
      await cluster.settled();
    }
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  });
});
