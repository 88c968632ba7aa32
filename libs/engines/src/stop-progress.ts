/**
 * How much of one stop string a text ends with, piece by piece (the rule of Knuth, Morris and Pratt): a letter costs the
 * same however long the string is, and however much of it the text has in common with it.
 */
export class StopProgress {
  /** Letters of the stop string with which the text ends; all of them from the end of a match on. */
  length = 0;
  readonly stop: string;
  /** For so many letters of the stop string and one: with how many of its own first letters they end. As far as it was needed. */
  private readonly falls: number[] = [];

  /** `stop` is not empty. */
  constructor(stop: string) {
    this.stop = stop;
  }

  /** Takes in the next piece, to the end of the first match. That is how many letters of it the match takes up; absent: none. */
  take(piece: string): number | undefined {
    const { stop } = this;
    for (let at = 0; at < piece.length; at += 1) {
      if (this.length === 0) {
        at = piece.indexOf(stop.charAt(0), at);
        if (at < 0) return undefined;
      }
      this.length = this.grow(this.length, piece.charCodeAt(at));
      if (this.length === stop.length) return at + 1;
      if (this.length > this.falls.length) this.learn();
    }
    return undefined;
  }

  /** What becomes of so many matching letters with the next one. */
  private grow(length: number, letter: number): number {
    let kept = length;
    while (kept > 0 && this.stop.charCodeAt(kept) !== letter) kept = this.falls[kept - 1] ?? 0;
    return this.stop.charCodeAt(kept) === letter ? kept + 1 : 0;
  }

  private learn(): void {
    const { falls, stop } = this;
    const last = falls.length;
    falls.push(last === 0 ? 0 : this.grow(falls[last - 1] ?? 0, stop.charCodeAt(last)));
  }
}
