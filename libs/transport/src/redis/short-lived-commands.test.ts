import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startOwnRedis } from '@sluice/testing';
import { Command } from 'ioredis';
import { expect, it } from 'vitest';
import { openRedis } from './connection.ts';
import { shortenCommandLives } from './short-lived-commands.ts';

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
}

it('a command and its reply are not kept until the next full collection', async () => {
  await using server = await startOwnRedis();
  const redis = openRedis(server.url, { profile: 'worker', name: 'test', onError: () => undefined });
  const echo = async (commands: number): Promise<void> => {
    for (let number = 0; number < commands; number += 1) {
      const text = `${'x'.repeat(10_000)}${number}`;
      // An `expect` for each would keep things itself.
      if ((await redis.echo(text)) !== text) throw new Error('another reply');
    }
  };
  await echo(100);
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const before = oldBytes();
  let most = 0;
  for (let batch = 0; batch < 100; batch += 1) {
    await echo(100);
    most = Math.max(most, oldBytes() - before);
  }
  // Commands and replies take 200 MB together. Without us, 30 to 50 of them stay.
  expect(most).toBeLessThan(5_000_000);
  redis.disconnect();
});

it('a command that is made with a callback or a stack calls and shows it, as without us', async () => {
  shortenCommandLives();
  const replies: unknown[] = [];
  const command = new Command('get', ['key'], {}, (error, reply) => replies.push(error ?? reply));
  command.resolve('value');
  await expect(command.promise).resolves.toBe('value');
  expect(replies).toEqual(['value']);
  const traced = new Command('get', ['key'], { errorStack: new Error('asked here') });
  traced.reject(new Error('refused'));
  await expect(traced.promise).rejects.toThrow('refused');
});

it('a command transforms its arguments once, and rejects what is wrong with them', async () => {
  shortenCommandLives();
  const command = new Command('hset', ['key', { field: 'value', other: 1 }] as never);
  expect(command.args).toEqual(['key', 'field', 'value', 'other', '1']);
  command.resolve(2);
  await expect(command.promise).resolves.toBe(2);
  const refused = new Command('get', ['key']);
  refused.reject(new Error('no'));
  await expect(refused.promise).rejects.toThrow('no');
});
