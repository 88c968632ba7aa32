import { expect, it } from 'vitest';
import { FakeClock } from './fake-clock.ts';
import { lookRegularly } from './regular-look.ts';

it('looks are taken one at a time, and go on after one that failed', async () => {
  const clock = new FakeClock();
  const begun: PromiseWithResolvers<void>[] = [];
  const looks = lookRegularly(clock, 1000, () => {
    const look = Promise.withResolvers<void>();
    begun.push(look);
    return look.promise;
  });
  expect(begun).toHaveLength(0);
  await clock.advance(1000);
  await clock.advance(1000);
  const joined = looks.take();
  expect(begun).toHaveLength(1);
  begun[0]?.reject(new Error('away'));
  await joined;
  await clock.advance(1000);
  expect(begun).toHaveLength(2);
  let isClosed = false;
  const closed = looks.close().then(() => {
    isClosed = true;
  });
  await clock.advance(5000);
  expect([begun.length, isClosed, clock.timers]).toEqual([2, false, 0]);
  begun[1]?.resolve();
  await closed;
});
