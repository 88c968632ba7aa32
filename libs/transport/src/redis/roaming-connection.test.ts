import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { ask, type ClusterTopology, startCluster, until } from '@sluice/testing';
import { Cluster, type Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { connected, openRedis } from './connection.ts';
import { openRoaming } from './roaming-connection.ts';

let topology: ClusterTopology;
let cluster: Cluster;
beforeAll(async () => {
  topology = await startCluster();
  const client = openRedis(topology.url, { profile: 'subscriber', name: 'test', onError: () => undefined });
  await connected(client, AbortSignal.timeout(10_000));
  if (!(client instanceof Cluster)) throw new TypeError('no cluster');
  cluster = client;
}, 60_000);
afterAll(async () => {
  cluster.disconnect();
  await topology.stop();
});

let roaming: Redis;
let heard: string[];
/** Of this test alone: what another one published may still be on its way from server to server. */
let channel: string;
beforeEach(async ({ task }) => {
  heard = [];
  channel = task.id;
  roaming = openRoaming(cluster);
  roaming.on('message', (_channel, text) => heard.push(text));
  await roaming.subscribe(channel);
});
afterEach(() => roaming.disconnect());

/** Its errors do not matter; `once` of Node would reject for them. */
const next = (event: 'close' | 'ready') => new Promise<void>((resolve) => void roaming.once(event, resolve));

/** Publishes at one server after the other; all must be heard. */
async function expectToHearAll(): Promise<void> {
  const ports = topology.nodes.map(({ port }) => port);
  for (const port of ports) await ask(port, 'PUBLISH', channel, `from ${port}`);
  await until(() => heard.length >= ports.length, { what: 'the messages' });
  expect(heard.toSorted()).toEqual(ports.map((port) => `from ${port}`).toSorted());
}

it('a roaming connection hears what any server of a cluster is told', async () => {
  await expectToHearAll();
});

it('a roaming connection leaves a server that dies, says so, and hears the others', async () => {
  const server = topology.nodes.find(({ port }) => port === roaming.options.port);
  const left = next('close');
  const back = next('ready');
  await server?.down();
  await left;
  await back;
  expect(roaming.options.port).not.toBe(server?.port);
  await server?.up();
  await roaming.subscribe(channel);
  await topology.settled();
  // The servers need a moment to find each other again.
  await until(async () => {
    await ask(server?.port ?? 0, 'PUBLISH', channel, 'again');
    return heard.includes('again');
  });
}, 60_000);

it('a roaming connection that has gone dead in silence is made anew', async () => {
  const sockets: Socket[] = [];
  const noteSocket = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', noteSocket);
  roaming.disconnect(true);
  await next('ready');
  unsubscribe('net.client.socket', noteSocket);
  for (const socket of sockets) socket.pause();
  await next('ready');
}, 30_000);
