import { type Due, TimingWheel } from '@sluice/runtime';

/** Something that wants to be called when it is due, monotonic milliseconds. */
export interface Ticking extends Due<Ticking> {
  tick(): void;
}

/** Calls all its members when they are due from a single timer, so that an open stream needs no timer of its own. */
export interface Ticker {
  add(ticking: Ticking): void;
  delete(ticking: Ticking): void;
  close(): void;
}

/** How far ahead a call can be planned without another look on the way. */
const reachMs = 15_000;

/** Starts a ticker, which is up to `stepMs` late and runs until it is closed. `now`: monotonic milliseconds. */
export function createTicker(stepMs: number, now: () => number): Ticker {
  const wheel = new TimingWheel<Ticking>(stepMs, reachMs, now());
  const timer = setInterval(() => wheel.turn(now(), (ticking) => ticking.tick()), stepMs);
  return {
    add: (ticking) => wheel.put(ticking),
    delete: (ticking) => void wheel.delete(ticking),
    close: () => clearInterval(timer),
  };
}
