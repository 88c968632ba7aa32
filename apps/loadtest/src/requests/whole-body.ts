import { longestKeptBytes } from './sse-scanner.ts';

/** A body that is read when it is whole: a single answer, an error, or what came instead of a stream. */
export class WholeBody {
  private parts: Buffer[] = [];
  private length = 0;

  /** Keeps a piece. False if the body is longer than any answer, and given up. */
  push(bytes: Buffer, start: number, end: number): boolean {
    this.length += end - start;
    if (this.length > longestKeptBytes) {
      this.parts = [];
      return false;
    }
    this.parts.push(Buffer.from(bytes.subarray(start, end)));
    return true;
  }

  /** The JSON in it; undefined if it is none. */
  read(): unknown {
    try {
      return JSON.parse(Buffer.concat(this.parts).toString());
    } catch {
      return undefined;
    }
  }
}
