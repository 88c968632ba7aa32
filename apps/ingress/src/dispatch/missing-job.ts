/** Looks in a row that must miss a job before it counts as lost. */
const looksBeforeLost = 2;
/** Signs of life that every worker must give before its silence about a job means that it does not have it. */
const beatsBeforeLost = 2;
/** A worker that gives none is lost long before; only one whose signs go astray keeps a job waiting for so long. */
const waitLimitMs = 6_000;

/**
 * Judges a job that neither waits nor is claimed: lost, or in the hands of a worker that had no time yet to say so.
 * A worker that took it before the first look that missed it speaks of it before its second sign of life from then on:
 * both leave by the same connection. Pure: the same looks give the same verdict.
 */
export class MissingJob {
  private misses = 0;
  private since = 0;
  /** Signs of life of each worker when a look missed the job for the first time. */
  private beatsThen: ReadonlyMap<string, number> = new Map();

  /** The job waits, was sent again, or could not have been heard of. */
  reset(): void {
    this.misses = 0;
  }

  /**
   * A look has missed the job at `at`, milliseconds. `beats` counts the signs of life of every living worker that may
   * have it. Returns whether the job is lost.
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
