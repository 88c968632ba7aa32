import type { Json } from '@sluice/canonical';

/** Text that may leave. `tokens` counts the pieces whose first character is in it. */
export interface Passed {
  text: string;
  tokens: number;
  logprobs: Json[];
}

interface HeldPiece {
  /** Where the piece begins in the held text. */
  start: number;
  logprobs: readonly Json[];
}

/**
 * Holds text back as long as it may become a stop string, across the borders of its pieces (tokens, deltas), so that
 * neither the match nor anything after it is ever seen.
 */
export class StopGate {
  /** The stop string that was hit; absent until then. */
  matched: string | undefined;
  private held = '';
  private pieces: HeldPiece[] = [];
  private readonly stops: readonly string[];

  constructor(stopSequences: readonly string[] = []) {
    this.stops = stopSequences.filter((stop) => stop !== '');
  }

  /** Whether there is text that may still become a stop string. */
  get isHolding(): boolean {
    return this.held !== '';
  }

  /** Takes a piece in and gives what is safe to say now. */
  push(text: string, logprobs: readonly Json[] = []): Passed {
    if (this.stops.length === 0) return { text, tokens: 1, logprobs: [...logprobs] };
    this.pieces.push({ start: this.held.length, logprobs });
    this.held += text;
    const match = this.findMatch();
    if (match === undefined) return this.release(this.held.length - this.pendingLength());
    this.matched = match.stop;
    const passed = this.release(match.index);
    this.held = '';
    this.pieces = [];
    return passed;
  }

  /** What is left when no more text will come: it did not become a stop string. */
  flush(): Passed {
    return this.release(Number.POSITIVE_INFINITY);
  }

  private findMatch(): { index: number; stop: string } | undefined {
    let found: { index: number; stop: string } | undefined;
    for (const stop of this.stops) {
      const index = this.held.indexOf(stop);
      if (index !== -1 && (found === undefined || index < found.index)) found = { index, stop };
    }
    return found;
  }

  /** Length of the longest end of the held text that is the beginning of a stop string. */
  private pendingLength(): number {
    let longest = 0;
    for (const stop of this.stops) {
      for (let length = Math.min(stop.length - 1, this.held.length); length > longest; length -= 1) {
        if (this.held.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }

  private release(length: number): Passed {
    const passed: Passed = { text: this.held.slice(0, length), tokens: 0, logprobs: [] };
    const kept: HeldPiece[] = [];
    for (const piece of this.pieces) {
      if (piece.start >= length) {
        kept.push({ ...piece, start: piece.start - length });
        continue;
      }
      passed.tokens += 1;
      passed.logprobs.push(...piece.logprobs);
    }
    this.held = this.held.slice(length);
    this.pieces = kept;
    return passed;
  }
}
