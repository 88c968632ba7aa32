/**
 * How many characters of one stop string the text ends with, computed piece by piece (Knuth, Morris and Pratt): each
 * character costs the same, however long the string is and however much of it matches.
 */
export class StopProgress {
  /** How many leading characters of the stop string the text ends with; all of them once it has matched. */
  length = 0;
  readonly stop: string;
  /**
   * For each matched length minus one: how many of the string's own first characters it ends with. Computed as far as
   * needed.
   */
  private readonly falls: number[] = [];

  /** `stop` must not be empty. */
  constructor(stop: string) {
    this.stop = stop;
  }

  /**
   * Reads the next piece up to the end of the first match. Returns how many characters of the piece that took; absent
   * if there is no match.
   */
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

  /** The matched length after the next character. */
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
