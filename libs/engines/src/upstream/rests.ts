/** How long a fast stream may go unread, milliseconds: a picture of a screen. */
export const restMs = 16;
/** Events in that time that make a stream fast: 125 a second. */
const fastEvents = 2;

/** How fast the events of one stream come. */
export class StreamRate {
  private count = 0;
  private since: number | undefined;
  private wasFast = false;

  /** Takes in what one read brought, in any number of calls. */
  add(events: number): void {
    this.count += events;
  }

  /** Whether the stream was fast for the last `restMs` or more. Ask after each read; `now` is monotonic milliseconds. */
  isFast(now: number): boolean {
    // What the first read brought took nobody knows how long.
    const elapsedMs = this.since === undefined ? Number.POSITIVE_INFINITY : now - this.since;
    if (elapsedMs < restMs) return this.wasFast;
    this.wasFast = this.count * restMs >= fastEvents * elapsedMs;
    this.since = now;
    this.count = 0;
    return this.wasFast;
  }
}

/** What can be left unread for a while. */
export interface Resting {
  resume(): void;
}

/**
 * Lets fast streams go unread for up to `restMs`, then reads them all in one turn: what costs is the read, the frame
 * and the write, not the token. Streams without a gap carry 1.3 times the tokens for 0.57 of the CPU of each
 * (`npm run bench:compare`, `npm run bench -- --only tokens`). A slower stream, and the beginning of any, is read at once.
 */
export class Rests {
  private resting: Resting[] = [];

  add(stream: Resting): void {
    // Nothing else keeps a process alive whose sockets are not read.
    if (this.resting.length === 0) setTimeout(() => this.wake(), restMs);
    this.resting.push(stream);
  }

  private wake(): void {
    const streams = this.resting;
    this.resting = [];
    for (const stream of streams) stream.resume();
  }
}
