/** What was completed for one process within the measured part of a run. */
export interface Done {
  ok: number;
  good: number;
  tokens: number;
  /** Length of that part, in milliseconds. */
  ms: number;
}

/**
 * Counts answers and tokens by when they came, whenever they were asked for. What a server completes is not what was
 * asked of it: under overload most answers come after the load.
 */
export class Throughput {
  private readonly from: number;
  private until: number;
  private ok = 0;
  private good = 0;
  private tokens = 0;
  private lastAt = 0;

  /** `from` and `until`: the instants at which the measured part begins and at which the load is to end. */
  constructor(from: number, until: number) {
    this.from = from;
    this.until = until;
  }

  token(count: number, at: number): void {
    if (at < this.from || at >= this.until) return;
    this.tokens += count;
    this.lastAt = Math.max(this.lastAt, at);
  }

  answer(isGood: boolean, at: number): void {
    if (at < this.from || at >= this.until) return;
    this.ok += 1;
    if (isGood) this.good += 1;
    this.lastAt = Math.max(this.lastAt, at);
  }

  /** All requests have begun before the time was over: everything up to `endAt`, and to the last answer, counts. */
  usedUp(endAt: number): void {
    this.until = Number.POSITIVE_INFINITY;
    this.lastAt = Math.max(this.lastAt, endAt);
  }

  /** The run has ended. */
  stop(at: number): void {
    this.until = Math.min(this.until, at);
  }

  done(): Done {
    const until = Number.isFinite(this.until) ? this.until : this.lastAt;
    return { ok: this.ok, good: this.good, tokens: this.tokens, ms: Math.max(0, until - this.from) };
  }
}
