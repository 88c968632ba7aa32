/** The answers to requests that were due in one half of a load: how many, and the sums of their times and squares. */
export interface Half {
  count: number;
  ms: number;
  squares: number;
}

/** Tells apart the answers of the two halves of a load. Both are complete: answers are waited for after its end. */
export class Halves {
  readonly first: Half = { count: 0, ms: 0, squares: 0 };
  readonly second: Half = { count: 0, ms: 0, squares: 0 };
  private readonly middle: number;

  /** `middle`: the instant between the halves. */
  constructor(middle: number) {
    this.middle = middle;
  }

  record(dueAt: number, ms: number): void {
    const half = dueAt < this.middle ? this.first : this.second;
    half.count += 1;
    half.ms += ms;
    half.squares += ms * ms;
  }
}
