import { type Seat, TransientSet } from '@sluice/runtime';

/** Something that wants to be called once a period. */
export interface Ticking {
  /** Where it is on the wheel; for the ticker alone. */
  seat?: Seat<Ticking> | undefined;
  share?: TransientSet<Ticking> | undefined;
  tick(): void;
}

/** Calls all its members once a period from a single timer, so that an open stream needs no timer of its own. */
export interface Ticker {
  add(ticking: Ticking): void;
  delete(ticking: Ticking): void;
  close(): void;
}

/**
 * The calls are spread over this many parts of a period, so that thousands do not come at once: beside 12,000 silent
 * streams, a quarter of whom was called at a time, their keep-alives held up everything else for 5 ms, four times a
 * second.
 */
const shares = 20;

/** Starts a ticker, which runs until it is closed. */
export function createTicker(periodMs: number): Ticker {
  const wheel = Array.from({ length: shares }, () => new TransientSet<Ticking>());
  let at = 0;
  const timer = setInterval(() => {
    at = (at + 1) % shares;
    for (const ticking of wheel[at] ?? []) ticking.tick();
  }, periodMs / shares);
  return {
    // Members join the part that is current, so their arrival times spread them over the wheel.
    add: (ticking) => {
      ticking.share ??= wheel[at];
      ticking.share?.add(ticking);
    },
    delete: (ticking) => {
      ticking.share?.delete(ticking);
      ticking.share = undefined;
    },
    close: () => clearInterval(timer),
  };
}
