/** Something that looks after itself once a second. */
export interface Ticking {
  tick(): void;
}

/** Calls everything that wants to be called once a second from one timer, so that an open stream costs none. */
export interface Ticker {
  add(ticking: Ticking): void;
  delete(ticking: Ticking): void;
  close(): void;
}

const periodMs = 1_000;

/** `shares`: in how many parts of the second the calls are spread, so that thousands don't come at once. */
export function createTicker(shares = 4): Ticker {
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
