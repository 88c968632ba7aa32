import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { ask, startCluster, type Topology, until } from '@sluice/testing';
import { Cluster } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createBus } from '../bus.ts';
import { masterAt, masterOf } from '../redis/cluster-master.ts';
import { connected, openRedis, type RedisClient } from '../redis/connection.ts';
import { openShardSubscription } from './shard-subscription.ts';
import { askForSigns } from './signs-of-life.ts';

const channel = 'sluice:here';
let topology: Topology;
beforeAll(async () => {
  topology = await startCluster();
}, 60_000);
afterAll(() => topology.stop());

const open: RedisClient[] = [];
afterEach(() => {
  for (const client of open.splice(0)) client.disconnect();
});

async function connect(
  profile: 'command' | 'subscriber',
  onError?: (error: Error) => void,
): Promise<Cluster> {
  const client = openRedis(topology.url, { profile, name: profile, onError: onError ?? (() => undefined) });
  open.push(client);
  await connected(client, AbortSignal.timeout(10_000));
  if (!(client instanceof Cluster)) throw new TypeError('no cluster');
  return client;
}

/** A bus that listens, and how often it said that its subscriptions stand again. */
async function createListener(onError?: (error: Error) => void) {
  const subscriber = await connect('subscriber', onError);
  const bus = createBus(await connect('command'), subscriber, () => undefined);
  const renewals: number[] = [];
  bus.onResubscribed(() => void renewals.push(1));
  return { bus, subscriber, renewals };
}

/** The server that owns the channel, and one that does not. */
function serversAround(cluster: Cluster) {
  const address = masterOf(cluster, channel);
  const isOwner = ({ port }: { port: number }): boolean => address === `127.0.0.1:${port}`;
  const [owner, other] = [topology.nodes.find(isOwner), topology.nodes.find((node) => !isOwner(node))];
  if (!owner || !other) throw new TypeError('a cluster has three masters');
  return { owner, other };
}

function channelAt({ port }: { port: number }, cluster: Cluster): string {
  for (let number = 0; ; number += 1) {
    if (masterOf(cluster, `sluice:${number}`) === `127.0.0.1:${port}`) return `sluice:${number}`;
  }
}

it('the death of another master does not touch a subscription', async () => {
  const { bus, subscriber, renewals } = await createListener();
  await bus.subscribe(channel, () => undefined);
  const { other } = serversAround(subscriber);
  const ups: boolean[] = [];
  subscriber.on('refresh', () => void ups.push(bus.isUp()));
  await other.down();
  // Each of these meets the dead server with probability 1/3, and would notice.
  for (let count = 0; count < 10; count += 1) {
    subscriber.refreshSlotsCache();
    await once(subscriber, 'refresh');
  }
  await other.up();
  expect(ups).toEqual(ups.map(() => true));
  expect(await bus.publish(channel, 'still')).toBe(1);
  expect(renewals).toEqual([]);
});

it('one channel is up while the master of another is away', async () => {
  const { bus, subscriber, renewals } = await createListener();
  const { owner, other } = serversAround(subscriber);
  const elsewhere = channelAt(other, subscriber);
  await bus.subscribe(channel, () => undefined);
  await bus.subscribe(elsewhere, () => undefined);
  await other.down();
  await until(() => !bus.isUp(), { what: 'the loss to be noticed' });
  expect([bus.isUp(elsewhere), bus.isUp(channel)]).toEqual([false, true]);
  // It is cut meanwhile, and comes back without the other one.
  await ask(owner.port, 'CLIENT', 'KILL', 'TYPE', 'pubsub');
  await until(() => renewals.length === 1, { what: 'the renewal to be told' });
  expect([bus.isUp(elsewhere), bus.isUp(channel)]).toEqual([false, true]);
  await other.up();
  await until(() => renewals.length === 2, { what: 'the other subscription to be renewed' });
  await until(() => bus.isUp());
});

it('a subscription leaves a master that was replaced and did not say so', async () => {
  const { bus, subscriber, renewals } = await createListener();
  await bus.subscribe(channel, () => undefined);
  const { owner, other } = serversAround(subscriber);
  for (const [slot, servers] of subscriber.slots.entries()) {
    if (servers[0] === `127.0.0.1:${owner.port}`) subscriber.slots[slot] = [`127.0.0.1:${other.port}`];
  }
  // In truth it was not, so it is asked once more.
  await until(() => renewals.length > 0, { what: 'the subscription to be renewed' });
  expect(await bus.publish(channel, 'again')).toBe(1);
});

it('masters are asked for again and again, because a replaced one may not say so', async () => {
  const { subscriber } = await createListener();
  for (let count = 0; count < 2; count += 1) await once(subscriber, 'refresh');
}, 30_000);

it('a subscription whose connection has gone dead in silence is lost', async () => {
  const cluster = await connect('subscriber');
  const sockets: Socket[] = [];
  const noteSocket = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', noteSocket);
  const standing = await openShardSubscription(
    cluster,
    channel,
    () => undefined,
    new AbortController().signal,
  );
  unsubscribe('net.client.socket', noteSocket);
  for (const socket of sockets) socket.pause();
  await standing.lost;
}, 30_000);

it('a subscription that is forbidden is reported, and stands when it is allowed again', async () => {
  const told: string[] = [];
  const { bus, subscriber, renewals } = await createListener((error) => told.push(error.message));
  await bus.subscribe(channel, () => undefined);
  const { owner } = serversAround(subscriber);
  // This also closes the connections of those who are subscribed.
  await ask(owner.port, 'ACL', 'SETUSER', 'default', 'resetchannels');
  await until(() => told.length > 0, { what: 'the refusal to be told' });
  expect(bus.isUp()).toBe(false);
  await ask(owner.port, 'ACL', 'SETUSER', 'default', 'allchannels');
  await until(() => renewals.length > 0, { what: 'the subscription to be renewed' });
  expect(bus.isUp()).toBe(true);
  expect(told).toEqual([expect.stringContaining('NOPERM')]);
});

it('a first subscription waits for a master that refuses it for a moment', async () => {
  const { bus, subscriber } = await createListener();
  const { owner } = serversAround(subscriber);
  await ask(owner.port, 'ACL', 'SETUSER', 'default', 'resetchannels');
  let stands = false;
  const subscribed = bus
    .subscribe(channel, () => undefined)
    .then(() => {
      stands = true;
    });
  const refusals = async (): Promise<boolean> => (await ask(owner.port, 'ACL', 'LOG')).includes('channel');
  await until(refusals, { what: 'a refusal' });
  expect(stands).toBe(false);
  await ask(owner.port, 'ACL', 'SETUSER', 'default', 'allchannels');
  await subscribed;
  expect(await bus.publish(channel, 'first')).toBe(1);
});

it('a master that takes over again is not held silent for what it was asked before its death', async () => {
  const cluster = await connect('subscriber');
  const { owner, other } = serversAround(cluster);
  const elsewhere = channelAt(other, cluster);
  let channels = [channel];
  const { isAnswered } = askForSigns(cluster, () => channels);
  await until(() => masterAt(cluster, `127.0.0.1:${owner.port}`)?.status === 'ready', {
    what: 'the first question',
  });
  owner.suspend();
  await until(() => !isAnswered(channel), { what: 'the owner to count as silent' });
  const isHeldSilent = (): boolean => {
    channels = [elsewhere];
    return !isAnswered(channel);
  };
  await until(() => !isHeldSilent(), { what: 'the owner to be asked anew' });
  owner.resume();
});
