import { SluiceError } from '@sluice/canonical';

/** How often the delay of the event loop is judged. */
const lookIntervalMs = 100;
/** Interval of the timer whose lateness measures that delay. */
const turnMs = 10;
/** The largest change of the refused share after one look. */
const step = 0.1;
/** The `refusedBy` of requests that are refused because this process itself is too slow. */
export const overloadRefusal = 'overload';
/** Some requests always get through: only by their delay can the end of the overload be seen. */
const mostRefused = 0.95;

/**
 * Decides which share of new requests to refuse when this process itself is the bottleneck.
 *
 * It is the integral part of the PIE controller (RFC 8033), which holds a queue at a target delay by dropping a share
 * of the arrivals: a delay above the limit raises the share, a delay below it lowers the share. A single late look
 * refuses nobody, because a cold start or a garbage collection is no overload. Pure: it uses neither a clock nor random
 * numbers.
 */
export class Shedder {
  private readonly limitMs: number;
  private pressure = 0;
  private owed = 0;

  /** `limitMs`: the delay of the event loop that is acceptable; 0 refuses nobody. */
  constructor(limitMs: number) {
    this.limitMs = limitMs;
  }

  /** The share of new requests that is being refused, 0 to 0.95. */
  get share(): number {
    return Math.max(0, this.pressure - step);
  }

  /** Adjusts the share to the delay of the event loop since the last look. Call it ten times a second. */
  look(delayMs: number): void {
    if (this.limitMs === 0) return;
    const error = Math.max(-1, Math.min(1, delayMs / this.limitMs - 1));
    this.pressure = Math.max(0, Math.min(mostRefused + step, this.pressure + step * error));
    if (this.share === 0) this.owed = 0;
  }

  /** Whether to refuse the next request. Refusals are spread evenly. */
  refusesNext(): boolean {
    if (this.pressure <= step) return false;
    this.owed += this.share;
    if (this.owed < 1) return false;
    this.owed -= 1;
    return true;
  }
}

/** Keeps new requests away from a process that cannot keep up with those that it has. */
export interface Overload {
  /** Throws `saturated` for the share of requests that has to be refused. */
  check(): void;
  close(): void;
}

/**
 * Watches the event loop of this process.
 *
 * Two sums over the timer's turns are enough. Reading Node's own event-loop histogram instead delayed every request by
 * 0.4 ms, ten times a second.
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
    // The mean length of the turn that a request meets at a random instant: it meets long turns more often than short
    // ones.
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
