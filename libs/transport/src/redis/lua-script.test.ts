import { createHash } from 'node:crypto';
import { type OwnTestRedis, startOwnRedis } from '@sluice/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LuaScript, runLuaScript, runPackingScript } from './lua-script.ts';

let server: OwnTestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startOwnRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const scriptOf = (source: string): LuaScript => ({
  source,
  sha: createHash('sha1').update(source).digest('hex'),
});

it('what a script packs arrives as it was', async () => {
  const numbers = [0, 1, -1, 127, 128, 2 ** 16, 2 ** 32, -(2 ** 40), 2 ** 53 - 1, 0.5, 2642.7060000000893];
  const pack = scriptOf('return cmsgpack.pack(cjson.decode(ARGV[1]))');
  for (const value of [numbers, [], ['ä', '"'], { a: [1] }]) {
    expect(await runPackingScript(redis, pack, [], [JSON.stringify(value)])).toEqual(value);
  }
});

it('a script that Redis has forgotten is sent again, packed or not', async () => {
  const [plain, packing] = [
    scriptOf('return {KEYS[1], ARGV[1]}'),
    scriptOf('return cmsgpack.pack({KEYS[1], ARGV[1]})'),
  ];
  for (let time = 0; time < 2; time += 1) {
    expect(await runLuaScript(redis, plain, ['key'], () => ['value'])).toEqual(['key', 'value']);
    expect(await runPackingScript(redis, packing, ['key'], ['value'])).toEqual(['key', 'value']);
    await redis.script('FLUSH');
  }
});

it('what goes wrong in a script is not sent again', async () => {
  const failing = scriptOf("redis.call('INCR', KEYS[1]) return redis.call('NONSENSE')");
  await redis.script('LOAD', failing.source);
  await expect(runPackingScript(redis, failing, ['count'], [])).rejects.toThrow();
  expect(await redis.get('count')).toBe('1');
});
