import type { Outcome } from '@sluice/admission';
import type { ErrorKind } from '@sluice/canonical';

/** Failures after which it is known that the generation had its slot until then. */
const heldUntil: ReadonlySet<ErrorKind> = new Set(['upstream-failed', 'deadline-exceeded']);

/** Measures how long the generations of one request occupied their slots. Instants are monotonic milliseconds. */
export class SlotTime {
  private readonly beganAt: (number | undefined)[];
  /** Whether a worker has claimed any of them. */
  hasBegun = false;
  private totalMs = 0;
  private count = 0;

  constructor(choices: number) {
    this.beganAt = new Array<number | undefined>(choices).fill(undefined);
  }

  /** The mean over those that ran to their end; absent if none did. */
  get meanMs(): number | undefined {
    return this.count === 0 ? undefined : this.totalMs / this.count;
  }

  began(choice: number, at: number): void {
    this.beganAt[choice] = at;
    this.hasBegun = true;
  }

  /** The generation ran to its end. Only the first call counts. */
  ended(choice: number, at: number): void {
    const beganAt = this.beganAt[choice];
    if (beganAt === undefined) return;
    this.beganAt[choice] = undefined;
    this.totalMs += at - beganAt;
    this.count += 1;
  }

  /** The generation failed: by a lost worker or Redis, its slot may have been free long before. */
  failed(choice: number, kind: ErrorKind): void {
    if (!heldUntil.has(kind)) this.beganAt[choice] = undefined;
  }

  /**
   * What admission learns when the request ends. A failure may come at once, and a client may leave at once, so these
   * only tell how long a generation takes at least.
   */
  times(now: number): Pick<Outcome, 'durationMs' | 'heldMs'> {
    const { meanMs } = this;
    if (meanMs !== undefined) return { durationMs: meanMs };
    const held = this.beganAt.flatMap((at) => (at === undefined ? [] : [now - at]));
    return held.length === 0 ? {} : { heldMs: held.reduce((sum, each) => sum + each, 0) / held.length };
  }
}
