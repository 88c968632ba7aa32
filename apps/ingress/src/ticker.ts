import { type Seat, TransientSet } from '@sluice/runtime';

/** Something that wants to be called once a period. */
export interface Ticking {
  /** Where it is on the wheel; for the ticker alone. */
  seat?: Seat<Ticking> | undefined;
  tick(): void;
}

/** Calls all its members once a period from a single timer, so that an open stream needs no timer of its own. */
export interface Ticker {
  add(ticking: Ticking): void;
  delete(ticking: Ticking): void;
  close(): void;
}

/** The calls are spread over this many parts of a period, so that thousands do not come at once. */
const shares = 4;

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
    add: (ticking) => wheel[at]?.add(ticking),
    delete: (ticking) => {
      for (const share of wheel) if (share.delete(ticking)) return;
    },
    close: () => clearInterval(timer),
  };
}
