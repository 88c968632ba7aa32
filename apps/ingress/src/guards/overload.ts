import { SluiceError } from '@sluice/canonical';

/** How often the delay of the event loop is looked at, and by how many turns of a timer it is known. */
const lookIntervalMs = 100;
const turnMs = 10;
/** How much more, or less, is refused after one look. */
const step = 0.1;
/** What refuses when this process itself is too slow. */
export const overloadRefusal = 'overload';
/** Some always get through: what they cost is how the end of the overload is seen. */
const mostRefused = 0.95;

/**
 * Decides which share of new requests to refuse when this process itself is what they wait for.
 *
 * It is the integral part of the PIE rule (RFC 8033), which keeps a queue at a delay by dropping a share of what
 * arrives: a delay above the limit raises the share, one below lowers it. A single late look refuses nobody, as a
 * cold start or a collection of garbage is no overload. Pure: there is no clock and no chance in it.
 */
export class Shedder {
  private readonly limitMs: number;
  private pressure = 0;
  private owed = 0;

  /** `limitMs`: the delay of the event loop that requests may meet; 0 refuses nobody. */
  constructor(limitMs: number) {
    this.limitMs = limitMs;
  }

  /** The share of new requests that is refused now, 0 to 0.95. */
  get share(): number {
    return Math.max(0, this.pressure - step);
  }

  /** Takes the delay of the event loop that requests have met since the last look. Call it ten times a second. */
  look(delayMs: number): void {
    if (this.limitMs === 0) return;
    const error = Math.max(-1, Math.min(1, delayMs / this.limitMs - 1));
    this.pressure = Math.max(0, Math.min(mostRefused + step, this.pressure + step * error));
    if (this.share === 0) this.owed = 0;
  }

  /** Whether to refuse the next request. The refused are spread evenly. */
  refusesNext(): boolean {
    if (this.pressure <= step) return false;
    this.owed += this.share;
    if (this.owed < 1) return false;
    this.owed -= 1;
    return true;
  }
}

/** Keeps new requests away from a process that can't keep up with those that it has. */
export interface Overload {
  /** Throws `saturated` for the share of requests that is too much. */
  check(): void;
  close(): void;
}

/**
 * Watches the event loop of this process.
 *
 * Two sums are all that is wanted of the turns; to ask Node's own histogram for them held every request up for 0.4 ms,
 * ten times a second.
 */
export function watchOverload(limitMs: number, now: () => number): Overload {
  const shedder = new Shedder(limitMs);
  let turnedAt = now();
  let sum = 0;
  let squares = 0;
  const timer = setInterval(() => {
    const at = now();
    const turn = at - turnedAt;
    turnedAt = at;
    sum += turn;
    squares += turn * turn;
    if (sum < lookIntervalMs) return;
    // The mean length of the turn that is met at any instant: long ones are met more often than short ones.
    shedder.look(Math.max(0, squares / sum - turnMs));
    sum = 0;
    squares = 0;
  }, turnMs);
  return {
    check: () => {
      if (!shedder.refusesNext()) return;
      throw new SluiceError('saturated', 'this gateway has more requests than it can keep up with', {
        refusedBy: overloadRefusal,
        retryAfterMs: 1_000,
      });
    },
    close: () => clearInterval(timer),
  };
}
