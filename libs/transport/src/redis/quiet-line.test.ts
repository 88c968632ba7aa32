import { type OwnTestRedis, startOwnRedis, until } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openRedis } from './connection.ts';
import { createQuietLine, type QuietLine } from './quiet-line.ts';

const channel = 'sluice:test:→';

let server: OwnTestRedis;
let raw: Redis;
let listener: Redis;
const heard: string[] = [];
const clients: Redis[] = [];

beforeAll(async () => {
  server = await startOwnRedis();
  raw = new Redis(server.url);
  listener = new Redis(server.url);
  listener.on('message', (_channel, text) => heard.push(text));
  await listener.subscribe(channel);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
  heard.splice(0);
});
afterAll(async () => {
  raw.disconnect();
  listener.disconnect();
  await server.stop();
});

interface Bench {
  line: QuietLine;
  client: Redis;
  errors: Error[];
  /** Bytes that Redis has sent on the present connection. */
  received(): number;
}

/** A line, made of a connection that `isReady` or begins, once what has to be said at its beginning has been answered. */
async function open(url = server.url, isReady = false): Promise<Bench> {
  const errors: Error[] = [];
  const client = openRedis(url, { profile: 'quiet', name: 'test', onError: (error) => errors.push(error) });
  if (!(client instanceof Redis)) throw new TypeError('a cluster has no quiet line');
  clients.push(client);
  if (isReady) await until(() => client.status === 'ready');
  const bench = { line: createQuietLine(client), client, errors, received: () => client.stream.bytesRead };
  await isOpen(bench);
  return bench;
}

async function isOpen({ line, client }: Bench): Promise<void> {
  await until(() => line.isUp() && client.commandQueue.length === 0);
}

/** Has everything that was posted arrived? A message behind all of it, whose answer tells. */
const settled = async ({ line }: Bench): Promise<void> => {
  expect(await line.publish(channel, 'end')).toBe(1);
  await until(() => heard.includes('end'));
};

describe('a quiet line', () => {
  it('is told nothing about what it posts, and all of that arrives in order', async () => {
    const bench = await open();
    const before = bench.received();
    for (const text of ['a', 'ü → 🙂', '', 'line\r\nbreak', 'x'.repeat(300_000)])
      expect(bench.line.post(channel, text)).toBe(Buffer.byteLength(text));
    await until(() => heard.length === 5);
    expect(bench.received()).toBe(before);
    await settled(bench);
    expect(heard).toEqual(['a', 'ü → 🙂', '', 'line\r\nbreak', 'x'.repeat(300_000), 'end']);
    // The answers to REPLY ON and to PUBLISH.
    expect(bench.received() - before).toBe('+OK\r\n:1\r\n'.length);
  });

  it('may be made of a connection that stands already', async () => {
    const bench = await open(server.url, true);
    const before = bench.received();
    bench.line.post(channel, 'a');
    await settled(bench);
    expect(bench.received() - before).toBe('+OK\r\n:1\r\n'.length);
  });

  it('tells how many listen where that is asked, between what it posts', async () => {
    const { line } = await open();
    const asked: Promise<number>[] = [];
    for (let index = 0; index < 20; index += 1) {
      line.post(channel, `posted ${index}`);
      asked.push(line.publish(index % 3 === 0 ? 'sluice:nobody' : channel, `asked ${index}`));
      line.post('sluice:nobody', 'lost');
    }
    expect(await Promise.all(asked)).toEqual(asked.map((_, index) => (index % 3 === 0 ? 0 : 1)));
    await until(() => heard.includes('asked 19'));
    expect(heard.filter((text) => text.startsWith('posted'))).toHaveLength(20);
    expect(heard.indexOf('asked 1')).toBe(heard.indexOf('posted 1') + 1);
  });

  it('is quiet again after a cut, and what was asked meanwhile fails', async () => {
    const bench = await open();
    for (let round = 0; round < 3; round += 1) {
      await raw.client('PAUSE', 10_000, 'WRITE');
      const asked = bench.line.publish(channel, 'asked').catch(() => 'failed');
      await raw.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await raw.client('UNPAUSE');
      expect(await asked).toBe('failed');
      await isOpen(bench);
      const before = bench.received();
      bench.line.post(channel, `after ${round}`);
      await until(() => heard.includes(`after ${round}`));
      expect(bench.received()).toBe(before);
    }
    await settled(bench);
  });

  it('posts nothing while it is not up, and does not send it later', async () => {
    const bench = await open();
    bench.client.disconnect(true);
    expect(bench.line.isUp()).toBe(false);
    expect(bench.line.post(channel, 'lost')).toBe(0);
    await expect(bench.line.publish(channel, 'lost')).rejects.toThrow();
    await isOpen(bench);
    await settled(bench);
    expect(heard).toEqual(['end']);
  });

  it('of a user who may not say so is answered, and serves as well', async () => {
    await raw.call('ACL', 'SETUSER', 'asked', 'on', '>secret', '~*', '&*', '+@all', '-client|reply');
    const bench = await open(server.url.replace('//', '//asked:secret@'));
    const before = bench.received();
    bench.line.post(channel, 'a');
    await settled(bench);
    expect(heard).toEqual(['a', 'end']);
    expect(bench.received() - before).toBe(':1\r\n:1\r\n'.length);
    expect(bench.errors).toEqual([]);
  });

  it('that is answered all the same is opened anew, and waits for answers from then on', async () => {
    const bench = await open();
    const [first] = clients;
    // As something between us and Redis that swallows the order.
    bench.client.stream.write('*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$2\r\nON\r\n');
    await until(() => bench.errors.length > 0 && bench.line.isUp() && first?.commandQueue.length === 0);
    const before = bench.received();
    bench.line.post(channel, 'a');
    await settled(bench);
    expect(heard).toEqual(['a', 'end']);
    expect(bench.received() - before).toBe(':1\r\n:1\r\n'.length);
  });

  it('whose Redis stands still fails what is asked, and goes on after that', async () => {
    const bench = await open();
    server.suspend();
    try {
      bench.line.post(channel, 'late');
      await expect(bench.line.publish(channel, 'late')).rejects.toThrow('redis said nothing for 3000 ms');
    } finally {
      server.resume();
    }
    await isOpen(bench);
    await settled(bench);
  });

  it('posts no more to a Redis that is far behind than the process has memory for', async () => {
    const { line, client } = await open();
    const text = 'x'.repeat(1_000_000);
    server.suspend();
    try {
      for (let count = 0; count < 200; count += 1) line.post('sluice:nobody', text);
      expect(client.stream.writableLength).toBeGreaterThan(60_000_000);
      expect(client.stream.writableLength).toBeLessThan(70_000_000);
    } finally {
      server.resume();
    }
    expect(await line.publish('sluice:nobody', 'last')).toBe(0);
  });
});
