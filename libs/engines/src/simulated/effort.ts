import { unsatisfiable } from './json-resolve.ts';

/**
 * The most that is looked at and written for one request, in characters and elements of lists: a tenth of a second's
 * work. A schema of 1 KB can ask for gigabytes, and for far more in vain.
 */
const most = 1_000_000;

/** What the instances of a stranger's schemas have cost. */
export class Effort {
  private left = most;

  /** Throws `invalid-request` once they cost too much. */
  spend(amount: number): void {
    this.left -= amount;
    if (this.left < 0) throw unsatisfiable('every one is too large');
  }
}
