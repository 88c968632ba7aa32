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
}
