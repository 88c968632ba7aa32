import { expect, it } from 'vitest';
import { afterAwake } from './awake-limit.ts';
import { FakeClock } from './fake-clock.ts';

it('an awake process waits as long as it was told to', async () => {
  const clock = new FakeClock();
  let isOver = false;
  afterAwake(clock, 500, () => {
    isOver = true;
  });
  await clock.advance(499);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
  expect(clock.timers).toBe(0);
});

it('a process that stood still for an hour waits for nearly all of the limit afterwards', async () => {
  const clock = new FakeClock();
  let isOver = false;
  afterAwake(clock, 500, () => {
    isOver = true;
  });
  await clock.advance(100);
  await clock.stall(3_600_000);
  await clock.advance(300);
  expect(isOver).toBe(false);
  await clock.advance(100);
  expect(isOver).toBe(true);
});

it('what arrived while it stood still comes before the end of the limit', async () => {
  const clock = new FakeClock();
  const order: string[] = [];
  const limit = afterAwake(clock, 500, () => order.push('over'));
  await clock.advance(460);
  clock.after(30, () => setImmediate(() => order.push('read')));
  await clock.stall(1000);
  expect(order).toEqual(['read', 'over']);
  limit[Symbol.dispose]();
});

it('nothing happens after its disposal', async () => {
  const clock = new FakeClock();
  {
    using _limit = afterAwake(clock, 500, () => expect.unreachable());
    await clock.advance(400);
  }
  expect(clock.timers).toBe(0);
});
