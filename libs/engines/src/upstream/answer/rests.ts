/** How long a fast stream may go unread, in milliseconds: one frame of a screen. */
export const restMs = 16;
/** Events in that time that make a stream fast: 125 a second. */
const fastEvents = 2;

/** How fast the events of one stream come. */
export class StreamRate {
  private count = 0;
  private since: number | undefined;
  private wasFast = false;

  /** Counts the events of one read, in any number of calls. */
  add(events: number): void {
    this.count += events;
  }

  /**
   * Whether the stream was fast during the last `restMs` or more. Ask after each read; `now` is in monotonic
   * milliseconds.
   */
  isFast(now: number): boolean {
    // Nobody knows how long the content of the first read took.
    const elapsedMs = this.since === undefined ? Number.POSITIVE_INFINITY : now - this.since;
    if (elapsedMs < restMs) return this.wasFast;
    this.wasFast = this.count * restMs >= fastEvents * elapsedMs;
    this.since = now;
    this.count = 0;
    return this.wasFast;
  }
}

/** A stream that can be left unread for a while. */
export interface Resting {
  resume(): void;
}

/**
 * Leaves fast streams unread for up to `restMs`, then reads them all in one turn: the cost is in the read, the frame
 * and the write, not in the token. Streams without gaps carry 1.3 times the tokens, at 0.57 of the CPU each (`npm run
 * bench:compare`, `npm run bench -- --only tokens`). A slower stream, and the beginning of any stream, is read at once.
 */
export class Rests {
  private resting: Resting[] = [];

  add(stream: Resting): void {
    // Not unreferenced: nothing else keeps a process alive whose sockets are not read.
    if (this.resting.length === 0) setTimeout(() => this.wake(), restMs);
    this.resting.push(stream);
  }

  private wake(): void {
    const streams = this.resting;
    this.resting = [];
    for (const stream of streams) stream.resume();
  }
}
