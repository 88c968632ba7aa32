import { describe, expect, it } from 'vitest';
import { waitForLull } from './lull.ts';

/** An event loop whose turns the test makes, and a burst that waits for its lull. */
function createBench() {
  const callbacks: (() => void)[] = [];
  const burst = { gathered: 1, isUrgent: false, sent: 0 };
  let now = 0;
  waitForLull(
    {
      size: () => burst.gathered,
      isUrgent: () => burst.isUrgent,
      send: () => {
        burst.sent += 1;
      },
    },
    { afterTurn: (callback) => callbacks.push(callback), now: () => now },
  );
  return {
    burst,
    /** One turn, which brings as much more. Returns how often the burst has been sent by then. */
    turn: (more = 0, tookMs = 0) => {
      burst.gathered += more;
      now += tookMs;
      for (const callback of callbacks.splice(0)) callback();
      return burst.sent;
    },
  };
}

describe('a burst', () => {
  it('is sent after two turns that bring nothing, once', () => {
    const { turn } = createBench();
    expect([turn(), turn(), turn(), turn()]).toEqual([0, 0, 1, 1]);
  });

  it('goes on while turns bring something, even if one in between brings nothing', () => {
    const { turn } = createBench();
    expect([turn(), turn(3), turn(), turn(1), turn(), turn()]).toEqual([0, 0, 0, 0, 0, 1]);
  });

  it('that does not end is sent after 0.3 ms', () => {
    const { turn } = createBench();
    expect([turn(1, 0.14), turn(1, 0.14), turn(1, 0.14)]).toEqual([0, 0, 1]);
  });

  it('is sent after the turn that makes it urgent', () => {
    const { burst, turn } = createBench();
    expect(turn(2)).toBe(0);
    burst.isUrgent = true;
    expect(turn(1)).toBe(1);
  });
});
