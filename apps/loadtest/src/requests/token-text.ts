/**
 * The text of the fake upstream: `tok0 tok1 tok2 …`, or with the instant of emission `tok0@81234567890 …` in
 * microseconds of the host's clock. Numbered words show every gap, duplicate and foreign word, whatever lies between;
 * the instant gives each token's time on the way.
 */
export function formatToken(position: number, emittedAt: number | undefined): string {
  return emittedAt === undefined ? `tok${position} ` : `tok${position}@${Math.round(emittedAt * 1000)} `;
}

/** What is wrong with an answer's text. */
export type TextProblem = 'gap' | 'duplicate' | 'foreign' | 'mismatch';

const prefix = Buffer.from('tok');
const space = 32;
const at = 64;
const zero = 48;

/** True when a text starts as the fake upstream's does. */
export function isTokenText(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4 || bytes[start + 3] !== zero) return false;
  return bytes[start] === prefix[0] && bytes[start + 1] === prefix[1] && bytes[start + 2] === prefix[2];
}

/** Reads numbered tokens from text that may be split anywhere, without an object per token. */
export class TokenReader {
  /** The first problem found; absent means none so far. */
  problem: TextProblem | undefined;
  private expected = 0;
  private place: 'prefix' | 'number' | 'stamp' = 'prefix';
  private matched = 0;
  private number = 0;
  private digits = 0;
  private stamp = 0;
  private readonly stamped: (emittedAt: number) => void;

  /** `stamped` gets the emission instant, in milliseconds of the host's clock, of each token that has one. */
  constructor(stamped: (emittedAt: number) => void) {
    this.stamped = stamped;
  }

  /** How many tokens ended within these bytes. */
  push(bytes: Buffer, start: number, end: number): number {
    let ended = 0;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] ?? 0;
      if (byte === space) {
        if (this.complete()) ended += 1;
      } else if (this.place === 'prefix') {
        this.readPrefix(byte);
      } else if (byte === at && this.place === 'number') {
        this.place = 'stamp';
      } else if (byte < zero || byte > zero + 9) {
        this.problem ??= 'foreign';
      } else if (this.place === 'number') {
        this.number = this.number * 10 + byte - zero;
        this.digits += 1;
      } else {
        this.stamp = this.stamp * 10 + byte - zero;
      }
    }
    return ended;
  }

  /** Ends the text. Returns how many tokens that completed: one if the last token lacked its space. */
  end(): number {
    return (this.place !== 'prefix' || this.matched > 0) && this.complete() ? 1 : 0;
  }

  private readPrefix(byte: number): void {
    if (byte !== prefix[this.matched]) this.problem ??= 'foreign';
    this.matched += 1;
    if (this.matched === prefix.length) this.place = 'number';
  }

  private complete(): boolean {
    const isWhole = this.digits > 0;
    if (!isWhole) this.problem ??= 'foreign';
    else if (this.number > this.expected) this.problem ??= 'gap';
    else if (this.number < this.expected) this.problem ??= 'duplicate';
    if (isWhole) {
      this.expected = this.number + 1;
      if (this.place === 'stamp') this.stamped(this.stamp / 1000);
    }
    this.place = 'prefix';
    this.matched = 0;
    this.number = 0;
    this.digits = 0;
    this.stamp = 0;
    return isWhole;
  }
}
