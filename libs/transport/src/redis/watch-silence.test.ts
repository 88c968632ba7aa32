import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { startOwnRedis, type TestRedis, until } from '@sluice/testing';
import { Cluster } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openRedis, type RedisClient } from './connection.ts';

/** More than the kernel keeps on both sides of a connection: who takes as much makes its sender go on. */
const portion = 16 * 1024 * 1024;

let redis: TestRedis;
let way: Server;
let client: RedisClient;
/** Bytes that Redis may get yet. */
let allowed = Number.POSITIVE_INFINITY;
let resume = (): void => undefined;
/** Keeps what Redis says until the function that it returns is called. */
let holdReplies = (): (() => void) => () => undefined;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  allowed = Number.POSITIVE_INFINITY;
  redis = await startOwnRedis();
  const { hostname, port } = new URL(redis.url);
  way = createServer((near) => lead(near, connect(Number(port), hostname)));
  await once(way.listen(0, '127.0.0.1'), 'listening');
  const url = `redis://127.0.0.1:${(way.address() as AddressInfo).port}`;
  client = openRedis(url, { profile: 'command', name: 'test', onError: () => undefined });
  await until(() => client.status === 'ready');
});
afterEach(async () => {
  vi.useRealTimers();
  client.disconnect();
  way.close();
  await redis.stop();
});

/** Joins both ends; towards Redis no more goes than is allowed. */
function lead(near: Socket, far: Socket): void {
  far.pipe(near);
  near.on('data', (bytes) => {
    allowed -= bytes.length;
    far.write(bytes);
    if (allowed <= 0) near.pause();
  });
  resume = () => near.resume();
  holdReplies = () => {
    far.unpipe(near);
    return () => far.pipe(near);
  };
  near.on('close', () => far.destroy());
  for (const end of [near, far]) end.on('error', () => near.destroy());
}

/** Whether the kernel has taken so many bytes, and waits for no more. */
const isWithKernel = (bytes: number): boolean => {
  if (client instanceof Cluster) throw new TypeError('one server is one connection');
  return client.stream.bytesWritten > bytes && client.stream.writableLength === 0;
};

const look = async (times: number): Promise<void> => {
  for (let at = 0; at < times; at += 1) {
    vi.advanceTimersByTime(100);
    await setImmediate();
  }
};

describe('a command that Redis takes slowly', () => {
  it('is waited for, however large it is', async () => {
    allowed = 0;
    const answer = client.set('long', 'x'.repeat(4 * portion));
    answer.catch(() => undefined);
    for (let sent = 0; sent < 5; sent += 1) {
      await look(8);
      allowed += portion;
      resume();
      await until(() => allowed <= 0 || client.status !== 'ready' || sent === 4);
    }
    expect(await answer).toBe('OK');
  });

  it('is given up when Redis takes no more of it', async () => {
    allowed = 0;
    const answer = client.set('long', 'x'.repeat(4 * portion));
    const refused = expect(answer).rejects.toThrow();
    await look(20);
    await refused;
  });

  it('is waited for while it may be in the kernels of both ends, a second for each megabyte', async () => {
    allowed = 0;
    const answer = client.set('long', 'x'.repeat(portion / 8));
    answer.catch(() => undefined);
    await until(() => isWithKernel(portion / 8));
    await look(20);
    expect(client.status).toBe('ready');
    allowed = Number.POSITIVE_INFINITY;
    resume();
    expect(await answer).toBe('OK');
  });

  it('is waited for as long if meanwhile an earlier one is answered', async () => {
    const release = holdReplies();
    allowed = portion;
    const earlier = client.call('no-such-command').catch((error: Error) => error.message);
    await until(() => allowed < portion);
    allowed = 0;
    const answer = client.set('long', 'x'.repeat(portion / 8));
    answer.catch(() => undefined);
    await until(() => isWithKernel(portion / 8));
    await look(2);
    release();
    expect(await earlier).toContain('unknown command');
    await look(20);
    expect(client.status).toBe('ready');
    allowed = Number.POSITIVE_INFINITY;
    resume();
    expect(await answer).toBe('OK');
  });

  it('is given up when nothing of it can be in the kernels any more', async () => {
    allowed = 0;
    const refused = expect(client.set('long', 'x'.repeat(portion / 8))).rejects.toThrow();
    await look(40);
    await refused;
  });

  it('is given up when only our own side goes on: more commands do not show that Redis takes them', async () => {
    allowed = 0;
    const refused = expect(client.set('long', 'x'.repeat(4 * portion))).rejects.toThrow();
    for (let more = 0; more < 120; more += 1) {
      client.set('more', 'x'.repeat(1_000)).catch(() => undefined);
      await look(1);
    }
    await refused;
  });
});
