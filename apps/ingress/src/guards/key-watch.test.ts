import { FakeClock } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { watchKeys } from './key-watch.ts';

type Found = 'ours' | 'foreign' | 'none';

const lost = 'redis has lost all keys: requests are refused with 401 until they are restored or minted anew';
const foreign =
  'the newest keys in this Redis are of another SLUICE_KEY_SECRET: requests with them are refused with 401';
const back = 'redis has keys of this SLUICE_KEY_SECRET';

/**
 * What is told while one look after the other finds these, and whether keys were of use at the start and after each; an
 * error is a Redis that is away.
 */
async function watched(first: Found, ...looks: (Found | Error)[]) {
  const clock = new FakeClock();
  const told: string[] = [];
  const tell = (message: string) => told.push(message);
  const logger = { info: tell, warn: tell } as unknown as Parameters<typeof watchKeys>[1]['logger'];
  const keysKnown = async () => {
    const found = looks.shift() ?? first;
    if (found instanceof Error) throw found;
    return found;
  };
  const count = looks.length;
  const watch = watchKeys(first, { directory: { keysKnown }, logger, clock });
  const areOurs = [watch.areOurs()];
  for (let look = 0; look < count; look++) {
    await clock.advance(1000);
    areOurs.push(watch.areOurs());
  }
  await watch.close();
  expect(clock.timers).toBe(0);
  return { told, areOurs };
}

async function toldOf(first: Found, ...looks: (Found | Error)[]): Promise<string[]> {
  return (await watched(first, ...looks)).told;
}

it('keys that are lost are told of once, and once more when there are others', async () => {
  expect(await toldOf('ours', 'ours', 'none', 'none', 'ours', 'ours')).toEqual([lost, back]);
});

it('keys of another secret are told of at the start, and when they come later', async () => {
  expect(await toldOf('foreign', 'foreign')).toEqual([foreign]);
  expect(await toldOf('ours', 'foreign', 'foreign')).toEqual([foreign]);
});

it('a new installation has lost nothing', async () => {
  expect(await toldOf('none', 'none')).toEqual([]);
});

it('a Redis that is away has not lost its keys', async () => {
  expect(await toldOf('ours', new Error('away'), 'ours', new Error('away'), 'none')).toEqual([lost]);
});

it('keys are of use while the last look found ours', async () => {
  const { areOurs } = await watched('ours', new Error('away'), 'none', 'ours', 'foreign');
  expect(areOurs).toEqual([true, true, false, true, false]);
  expect((await watched('none', 'ours')).areOurs).toEqual([false, true]);
});
