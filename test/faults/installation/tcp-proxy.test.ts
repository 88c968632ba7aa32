import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { until } from '@sluice/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FaultProxy, startFaultProxy } from './tcp-proxy.ts';

let server: Server;
let proxy: FaultProxy;
const accepted: Socket[] = [];
const clients: Socket[] = [];

beforeEach(async () => {
  // An echo server.
  server = createServer((socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  proxy = await startFaultProxy(address.port);
});

afterEach(async () => {
  for (const socket of [...clients.splice(0), ...accepted.splice(0)]) socket.destroy();
  await proxy.stop();
  server.close();
});

interface Client {
  socket: Socket;
  heard(): number;
}

async function open(): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1');
  clients.push(socket);
  let heard = 0;
  socket.on('data', (bytes) => {
    heard += bytes.length;
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return { socket, heard: () => heard };
}

test('every byte passes, many more than any buffer holds', async () => {
  const { socket, heard } = await open();
  socket.write(Buffer.alloc(8 * 1024 * 1024));
  await until(() => heard() === 8 * 1024 * 1024);
});

test('a throttle counts bytes, in however many pieces they come', async () => {
  const { socket } = await open();
  socket.setNoDelay();
  await proxy.set({ kind: 'throttle', bytesPerSecond: 1_000_000 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    for (let piece = 0; piece < 100; piece += 1) {
      await new Promise<void>((resolve) => socket.write(Buffer.alloc(10), () => resolve()));
      await new Promise(setImmediate);
    }
    // The first of them allows twenty times as much.
    for (let tick = 0; tick < 10; tick += 1) {
      vi.advanceTimersByTime(20);
      await new Promise(setImmediate);
    }
  } finally {
    vi.useRealTimers();
  }
  await until(() => accepted[0]?.bytesRead === 1_000);
});

test('a throttled connection gets everything once the throttle is gone', async () => {
  const { socket, heard } = await open();
  await proxy.set({ kind: 'throttle', bytesPerSecond: 1_000 });
  for (let piece = 0; piece < 40; piece += 1) {
    socket.write(Buffer.alloc(1_000));
    await new Promise(setImmediate);
  }
  await until(() => heard() > 0);
  await proxy.set({ kind: 'pass' });
  await until(() => heard() === 40_000);
  socket.write('more');
  await until(() => heard() === 40_004);
});

test('what was stalled arrives later, and late bytes arrive in order and whole', async () => {
  const { socket, heard } = await open();
  await proxy.set({ kind: 'stall' });
  socket.write('waits');
  await until(() => socket.writableLength === 0);
  expect(heard()).toBe(0);
  await proxy.set({ kind: 'latency', delayMs: 20 });
  await until(() => heard() === 5);
});

test('half open, the request arrives and the answer does not', async () => {
  const { socket, heard } = await open();
  await proxy.set({ kind: 'half-open' });
  socket.write('ask');
  await until(() => (accepted[0]?.bytesRead ?? 0) === 3);
  expect(heard()).toBe(0);
  await proxy.set({ kind: 'pass' });
  await until(() => heard() === 3);
});

test('a connection that lost bytes in a black hole is reset and never goes on with a gap', async () => {
  const { socket } = await open();
  await until(() => accepted.length === 1);
  await proxy.set({ kind: 'blackhole' });
  socket.write('vanishes');
  // When another connection is open, the proxy has seen everything that came before.
  await open();
  await until(() => proxy.connections === 2);
  await until(async () => {
    await new Promise(setImmediate);
    return socket.writableLength === 0;
  });
  await proxy.set({ kind: 'pass' });
  await until(() => socket.destroyed || accepted[0]?.bytesRead === 0);
  expect(accepted[0]?.bytesRead).toBe(0);
});

test('refused and dropped clients get in again afterwards, on the same port', async () => {
  for (const kind of ['refuse', 'drop'] as const) {
    await proxy.set({ kind });
    const refused = connect(proxy.port, '127.0.0.1');
    clients.push(refused);
    refused.on('error', () => undefined);
    await new Promise((resolve) => refused.on('close', resolve));
    await proxy.set({ kind: 'pass' });
    const { socket, heard } = await open();
    socket.write('in');
    await until(() => heard() === 2);
  }
});

test('a connection is cut after so many bytes of its server', async () => {
  const { socket, heard } = await open();
  await proxy.set({ kind: 'cut-after', bytes: 10 });
  socket.write('123456789');
  await until(() => heard() === 9);
  socket.write('0');
  await until(() => socket.destroyed);
});

test('a forgotten connection stays dead while new ones pass', async () => {
  const { socket, heard } = await open();
  await until(() => accepted.length === 1);
  proxy.forgetAll();
  await proxy.set({ kind: 'pass' });
  socket.write('nobody hears this');
  const fresh = await open();
  fresh.socket.write('hello');
  await until(() => fresh.heard() === 5);
  expect([heard(), socket.destroyed, accepted[0]?.bytesRead]).toEqual([0, false, 0]);
});
