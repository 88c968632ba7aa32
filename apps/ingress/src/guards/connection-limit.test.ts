import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { until } from '@sluice/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limitConnections } from './connection-limit.ts';

let server: Server;
let sockets: Socket[];
let now: number;
let told: number[];
beforeEach(async () => {
  now = 0;
  told = [];
  sockets = [];
  server = createServer((socket) => socket.on('error', () => undefined).write('welcome'));
  limitConnections(
    server,
    66,
    () => now,
    (connections) => told.push(connections),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** What a client receives until it receives something or is turned away. */
async function welcome(): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  sockets.push(socket);
  let heard: string | undefined;
  socket.on('data', (text) => {
    heard = String(text);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    heard ??= '';
  });
  await until(() => heard !== undefined);
  return heard ?? '';
}

it('as many clients are served as files are left, and others when those have gone', async () => {
  expect([await welcome(), await welcome(), await welcome()]).toEqual(['welcome', 'welcome', '']);
  sockets[0]?.destroy();
  await until(async () => (await welcome()) === 'welcome');
});

it('clients that are turned away are reported once a minute', async () => {
  for (let client = 0; client < 4; client += 1) await welcome();
  expect(told).toEqual([2]);
  now = 60_000;
  for (let client = 0; client < 2; client += 1) await welcome();
  expect(told).toEqual([2, 2]);
});
