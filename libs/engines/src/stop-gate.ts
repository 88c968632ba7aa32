import type { Json } from '@sluice/canonical';
import { StopProgress } from './stop-progress.ts';

/** Text that may leave. `tokens` are those of the pieces whose first character is in it. */
export interface Passed {
  text: string;
  tokens: number;
  logprobs: Json[];
}

interface HeldPiece {
  /** Where the piece begins in the whole text. */
  start: number;
  tokens: number;
  logprobs: readonly Json[];
}

/**
 * Holds text back as long as it may become a stop string, even across pieces (tokens, deltas), so that neither the
 * match nor anything after it is ever seen.
 */
export class StopGate {
  /** The stop string that was hit; absent until then. */
  matched: string | undefined;
  private held = '';
  /** Number of characters passed on before `held`. */
  private passed = 0;
  /**
   * The pieces from `due` on were not passed on. A long stop string may hold back tens of thousands, which are not
   * copied each time.
   */
  private pieces: HeldPiece[] = [];
  private due = 0;
  private readonly stops: readonly StopProgress[];

  constructor(stopSequences: readonly string[] = []) {
    this.stops = stopSequences.filter((stop) => stop !== '').map((stop) => new StopProgress(stop));
  }

  /** Whether there is text that may still become a stop string. */
  get isHolding(): boolean {
    return this.held !== '';
  }

  /** Takes a piece, which stands for this many tokens, and returns what may be said now. */
  push(text: string, logprobs: readonly Json[] = [], tokens = 1): Passed {
    if (this.stops.length === 0) return { text, tokens, logprobs: [...logprobs] };
    this.pieces.push({ start: this.passed + this.held.length, tokens, logprobs });
    const match = this.findMatch(text);
    this.held += text;
    if (match === undefined) return this.release(this.held.length - this.pendingLength());
    this.matched = match.stop;
    const passed = this.release(match.index);
    this.held = '';
    this.pieces = [];
    this.due = 0;
    return passed;
  }

  /** Returns what was held, because no more text comes and it did not become a stop string. */
  flush(): Passed {
    for (const stop of this.stops) stop.length = 0;
    return this.release(Number.POSITIVE_INFINITY);
  }

  /** Among the stop strings that end in this piece, the one that begins first, with its index in the held text. */
  private findMatch(piece: string): { index: number; stop: string } | undefined {
    let found: { index: number; stop: string } | undefined;
    for (const progress of this.stops) {
      const taken = progress.take(piece);
      if (taken === undefined) continue;
      const { stop } = progress;
      const index = this.held.length + taken - stop.length;
      if (found === undefined || index < found.index) found = { index, stop };
    }
    return found;
  }

  /** Length of the longest end of the held text that could begin a stop string. */
  private pendingLength(): number {
    return this.stops.reduce((longest, { length }) => Math.max(longest, length), 0);
  }

  private release(length: number): Passed {
    if (length === 0) return { text: '', tokens: 0, logprobs: [] };
    const passed: Passed = { text: this.held.slice(0, length), tokens: 0, logprobs: [] };
    const end = this.passed + length;
    this.passed += passed.text.length;
    this.held = this.held.slice(length);
    for (let piece = this.pieces[this.due]; piece && piece.start < end; piece = this.pieces[this.due]) {
      this.due += 1;
      passed.tokens += piece.tokens;
      for (const each of piece.logprobs) passed.logprobs.push(each);
    }
    if (this.due * 2 >= this.pieces.length) {
      this.pieces = this.pieces.slice(this.due);
      this.due = 0;
    }
    return passed;
  }
}
