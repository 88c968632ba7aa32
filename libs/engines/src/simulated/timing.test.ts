import { describe, expect, it } from 'vitest';
import { type Sleeper, TimerWheel } from './timing.ts';

function sleeper(dueAt: number, wake: () => void): Sleeper {
  return { dueAt, wake };
}

describe('the timer wheel', () => {
  it('wakes thousands in the order of their instants, none early', async () => {
    const wheel = new TimerWheel();
    // The wheel turns from its first sleeper on. One that comes later with a past instant shares the next slot.
    wheel.sleep(sleeper(wheel.now() + 150, () => {}));
    const start = Math.ceil(wheel.now()) + 1;
    const woken: number[] = [];
    let early = 0;
    await new Promise<void>((resolve) => {
      let left = 3000;
      for (let index = 0; index < 3000; index += 1) {
        const dueAt = start + ((index * 7919) % 1500) / 10;
        const one = sleeper(dueAt, () => {
          if (wheel.now() < dueAt) early += 1;
          woken.push(Math.ceil(dueAt));
          left -= 1;
          if (left === 0) resolve();
        });
        wheel.sleep(one);
      }
    });
    expect(early).toBe(0);
    expect(woken).toEqual([...woken].sort((left, right) => left - right));
  });

  it('keeps a sleeper that sleeps longer than a turn of the wheel', async () => {
    const wheel = new TimerWheel(8);
    const dueAt = wheel.now() + 30;
    // Its neighbours turn the wheel past its slot several times before it is due.
    const early = [2, 6, 10, 14].map((ms) => sleeper(dueAt - 30 + ms, () => {}));
    for (const one of early) wheel.sleep(one);
    const wokenAt = await new Promise<number>((resolve) =>
      wheel.sleep(sleeper(dueAt, () => resolve(wheel.now()))),
    );
    expect(wokenAt).toBeGreaterThanOrEqual(dueAt);
  });

  it('does not wake a sleeper that was forgotten', async () => {
    const wheel = new TimerWheel();
    let isWoken = false;
    const forgotten = sleeper(wheel.now() + 2, () => {
      isWoken = true;
    });
    const yielding = sleeper(0, () => {
      isWoken = true;
    });
    wheel.sleep(forgotten);
    wheel.forget(forgotten);
    wheel.yield(yielding);
    wheel.forget(yielding);
    await new Promise<void>((resolve) => wheel.sleep(sleeper(wheel.now() + 5, resolve)));
    expect(isWoken).toBe(false);
  });

  it('lets a sleeper sleep again while it is being woken', async () => {
    const wheel = new TimerWheel();
    let times = 0;
    await new Promise<void>((resolve) => {
      const again = sleeper(wheel.now() + 1, () => {
        times += 1;
        if (times === 20) return resolve();
        again.dueAt += 1;
        wheel.sleep(again);
      });
      wheel.sleep(again);
    });
    expect(times).toBe(20);
  });
});
