import { FakeClock } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { startPools } from './start-pools.ts';

/** Pools that start or fail as the test says, in the order of their attempts. */
function createBench() {
  const clock = new FakeClock();
  const ending = new AbortController();
  const told: string[] = [];
  const pool = (name: string, ...attempts: (() => Promise<void>)[]) => ({
    name,
    start: async () => {
      await attempts.shift()?.();
      told.push(`${name} starts`);
    },
  });
  const options = {
    clock,
    signal: ending.signal,
    logger: {
      error: ({ err }: { err: Error }) => told.push(err.message),
      info: ({ pool }: { pool: string }) => told.push(`${pool} is logged`),
    } as never,
    onStarted: async () => void told.push('told'),
  };
  return { clock, ending, told, pool, options };
}

const fails = (why: string) => () => Promise.reject(new Error(why));

it('a pool takes jobs while another one still waits for its server', async () => {
  const { told, pool, options } = createBench();
  const late = Promise.withResolvers<void>();
  const started = startPools([pool('late', () => late.promise), pool('early')], options);
  await expect.poll(() => told).toEqual(['early starts', 'told']);
  late.resolve();
  await started;
  expect(told).toEqual(['early starts', 'told', 'late starts', 'told']);
});

it('every started pool has been announced', async () => {
  const { told, pool, options } = createBench();
  const heard = Promise.withResolvers<void>();
  const started = startPools([pool('a')], { ...options, onStarted: () => heard.promise });
  void started.then(() => told.push('started'));
  await expect.poll(() => told).toEqual(['a starts']);
  await new Promise(setImmediate);
  expect(told).toEqual(['a starts']);
  heard.resolve();
  await started;
  expect(told).toEqual(['a starts', 'started']);
});

it('a pool that did not start is tried again beside the others until it does', async () => {
  const { clock, told, pool, options } = createBench();
  await startPools([pool('bad', fails('no server'), fails('still none')), pool('good')], options);
  expect(told).toEqual(['good starts', 'told', 'no server']);
  await clock.advance(10_000);
  await expect.poll(() => told.at(-1)).toBe('still none');
  await clock.advance(10_000);
  await expect.poll(() => told.slice(4)).toEqual(['bad starts', 'told', 'bad is logged']);
});

it('if no pool starts, the start is rejected', async () => {
  const { told, pool, options } = createBench();
  const start = startPools([pool('a', fails('no server')), pool('b', fails('no model'))], options);
  await expect(start).rejects.toThrow('no server');
  expect(told).toEqual([]);
});

it('a worker that is told to stop retries nothing', async () => {
  const { clock, ending, told, pool, options } = createBench();
  await startPools([pool('bad', fails('no server')), pool('good')], options);
  ending.abort();
  await clock.advance(60_000);
  expect(told).toEqual(['good starts', 'told', 'no server']);
  await startPools([pool('worse', fails('not waited for'))], options);
});
