/** Something that looks after itself once a period. */
export interface Ticking {
  tick(): void;
}

/** Calls everything that wants to be called once a period from one timer, so that an open stream costs none. */
export interface Ticker {
  add(ticking: Ticking): void;
  delete(ticking: Ticking): void;
  close(): void;
}

/** In how many parts of a period the calls are spread, so that thousands don't come at once. */
const shares = 4;

export function createTicker(periodMs: number): Ticker {
  const wheel = Array.from({ length: shares }, () => new Set<Ticking>());
  let at = 0;
  const timer = setInterval(() => {
    at = (at + 1) % shares;
    for (const ticking of wheel[at] ?? []) ticking.tick();
  }, periodMs / shares);
  return {
    // Where the wheel stands: arrivals are spread over it as they come.
    add: (ticking) => wheel[at]?.add(ticking),
    delete: (ticking) => {
      for (const share of wheel) if (share.delete(ticking)) return;
    },
    close: () => clearInterval(timer),
  };
}
