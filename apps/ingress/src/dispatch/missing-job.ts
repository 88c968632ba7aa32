/** How many looks in a row must miss a job before it counts as lost. */
const looksBeforeLost = 2;
/** How many signs of life each worker must give without mentioning the job before it counts as not having it. */
const beatsBeforeLost = 2;
/**
 * A missing job counts as lost after this long in any case. A worker that gives no signs of life is lost long before,
 * so only one whose signs are lost on their way makes a job wait for so long.
 */
const waitLimitMs = 6_000;

/**
 * Judges a job that neither waits nor is claimed: is it lost, or has a worker taken it without having had the time to
 * say so? A worker that took the job before the first look that missed it mentions it before its second sign of life
 * after that look: where Redis does not tell of the claim itself, both go over the same connection, unless something
 * large is in the way. Pure: the same looks give the same verdict.
 */
export class MissingJob {
  private misses = 0;
  private since = 0;
  /** How many signs of life each worker had given when a look first missed the job. */
  private beatsThen: ReadonlyMap<string, number> = new Map();

  /** Starts over, because the job waits, was sent again, or no claim could have reached us. */
  reset(): void {
    this.misses = 0;
  }

  /**
   * A look at the time `at` (milliseconds) has missed the job. `beats` counts the signs of life of every living worker
   * that may have it. Returns whether the job is lost.
   */
  miss(at: number, beats: ReadonlyMap<string, number>): boolean {
    if (this.misses === 0) {
      this.since = at;
      this.beatsThen = new Map(beats);
    }
    this.misses += 1;
    if (this.misses < looksBeforeLost) return false;
    return at - this.since >= waitLimitMs || this.haveAllSpoken(beats);
  }

  private haveAllSpoken(beats: ReadonlyMap<string, number>): boolean {
    for (const [worker, count] of beats) {
      if (count - (this.beatsThen.get(worker) ?? 0) < beatsBeforeLost) return false;
    }
    return true;
  }
}
