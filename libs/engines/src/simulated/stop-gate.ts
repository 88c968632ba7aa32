import type { Json } from '@sluice/canonical';

/** Text that may leave. `tokens` counts the tokens whose first character is in it. */
export interface Passed {
  text: string;
  tokens: number;
  logprobs: Json[];
}

interface HeldToken {
  /** Where the token begins in the held text. */
  start: number;
  logprob: Json | undefined;
}

/**
 * Holds text back as long as it may become a stop string, across the borders of tokens, so that neither the
 * match nor anything after it is ever seen.
 */
export class StopGate {
  /** The stop string that was hit; absent until then. */
  matched: string | undefined;
  private held = '';
  private tokens: HeldToken[] = [];
  private readonly stops: readonly string[];

  constructor(stopSequences: readonly string[] = []) {
    this.stops = stopSequences.filter((stop) => stop !== '');
  }

  /** Takes a token in and gives what is safe to say now. */
  push(text: string, logprob: Json | undefined): Passed {
    if (this.stops.length === 0) return { text, tokens: 1, logprobs: logprob === undefined ? [] : [logprob] };
    this.tokens.push({ start: this.held.length, logprob });
    this.held += text;
    const match = this.findMatch();
    if (match === undefined) return this.release(this.held.length - this.pendingLength());
    this.matched = match.stop;
    const passed = this.release(match.index);
    this.held = '';
    this.tokens = [];
    return passed;
  }

  /** What is left when no more text will come: it did not become a stop string. */
  flush(): Passed {
    return this.release(this.held.length);
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
    const kept: HeldToken[] = [];
    for (const token of this.tokens) {
      if (token.start >= length) {
        kept.push({ ...token, start: token.start - length });
        continue;
      }
      passed.tokens += 1;
      if (token.logprob !== undefined) passed.logprobs.push(token.logprob);
    }
    this.held = this.held.slice(length);
    this.tokens = kept;
    return passed;
  }
}
