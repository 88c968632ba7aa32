import { type ErrorInfo, type GenerationEvent, isTerminal } from '@sluice/canonical';
import type { StreamEncoder } from '@sluice/formats';
import { breakOff, type ResponseWriter } from '@sluice/http';
import type { Seat, TransientSet } from '@sluice/runtime';
import type { Ticking } from '../ticker.ts';
import { BodyWriter } from './body-writer.ts';

/**
 * Bytes that a client may leave unread before its relay pauses. With the overhead of many small pieces they take less
 * than 256 KiB of memory (`npm run faults -- --only slow-readers`; a limit of 256 KiB took 294). Node's own server,
 * which only unusual requests meet, counts text that waits in UTF-16 units.
 */
const bufferLimitBytes = 160 * 1024;

/** What a relay writes with, and what it calls. */
export interface RelayOptions {
  response: ResponseWriter;
  encoder: StreamEncoder;
  choices: number;
  /** `isAnswer`: an answer begins. Otherwise a keep-alive comes before it. */
  headers(isAnswer: boolean): Record<string, string>;
  /** Silence after which the stream is opened, or sent a keep-alive, milliseconds. */
  keepAliveMs: number;
  /** How long a client may read nothing while its buffer is full, milliseconds. */
  stallLimitMs: number;
  /** Monotonic milliseconds. */
  now(): number;
  /** Answers with an error that came before anything was written, and so with its true status. */
  refuse(error: ErrorInfo): void;
  /** The buffer is full: no events are wanted until `onDrained`. */
  onFull(): void;
  onDrained(): void;
  /** The client read nothing for too long, and its socket was destroyed. */
  onStalled(): void;
}

/**
 * Writes the events of one request to its socket, through the encoder of the client's format.
 *
 * The status line waits for the first event after the start that the client's format shows, or the first keep-alive,
 * so that a failure before it becomes a true status. Generate content shows calls when they are whole, and thinking
 * only to those who ask for it. The body ends cleanly only after the terminal events of all choices or an in-band
 * error. In every other case the socket is destroyed, so that no client takes half an answer for a whole one.
 */
export class Relay implements Ticking {
  seat: Seat<Ticking> | undefined;
  spoke: TransientSet<Ticking> | undefined;
  private readonly options: RelayOptions;
  private readonly body: BodyWriter;
  private isOpen = false;
  private isFull = false;
  private isEnded = false;
  private finished = 0;
  /** When something was last written, or could not be. */
  private writtenAt: number;
  /** Of each choice, whether anything but its start was written. */
  private readonly shown: boolean[];
  /** What the starts of choices write. It waits for more, because they alone do not decide the status line. */
  private waiting = '';

  constructor(options: RelayOptions) {
    this.options = options;
    this.body = new BodyWriter(options.response);
    this.writtenAt = options.now();
    this.shown = new Array<boolean>(options.choices).fill(false);
    options.response.on('drain', () => this.drained());
    options.response.on('timeout', () => this.stalled());
  }

  /** Takes events of one choice in order and writes them at once, in one piece. */
  push(choice: number, events: readonly GenerationEvent[]): void {
    if (this.isEnded) return;
    const { encoder } = this.options;
    let text = '';
    for (const event of events) {
      if (event.type === 'error' && !this.isOpen && text === '') {
        this.isEnded = true;
        this.options.refuse(event.error);
        return;
      }
      const written = encoder.push(event, choice);
      if (event.type === 'start' && !this.isOpen) this.waiting += written;
      else text += written;
      if (written !== '' && event.type !== 'start') this.shown[choice] = true;
      if (!isTerminal(event)) continue;
      this.finished += 1;
      if (event.type === 'error' || this.finished === this.options.choices) {
        this.end(this.opened(text));
        return;
      }
    }
    if (text !== '') this.write(this.opened(text));
  }

  /** Whether anything of this choice was written, apart from its start. */
  hasShown(choice: number): boolean {
    return this.shown[choice] === true;
  }

  /** When the next keep-alive is due: each write puts it off. */
  get dueAt(): number {
    return this.writtenAt + this.options.keepAliveMs;
  }

  /** Keeps the connection alive. Call it when it is due. */
  tick(): void {
    const { options } = this;
    this.writtenAt = options.now();
    if (options.response.destroyed || this.isFull || this.isEnded) return;
    const text = this.isOpen ? '' : this.open(false);
    this.write(text + options.encoder.keepAlive());
  }

  /** Stops the relay, because the client's socket is gone. */
  closed(): void {
    this.isEnded = true;
  }

  /** The text, after what has to be written before it. */
  private opened(text: string): string {
    return this.isOpen ? text : this.open(true) + text;
  }

  /** Writes the head, and returns the text of the starts that waited for it. */
  private open(isAnswer: boolean): string {
    const { response, encoder } = this.options;
    this.isOpen = true;
    response.writeHead(200, {
      'content-type': encoder.contentType,
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...this.options.headers(isAnswer),
    });
    const { waiting } = this;
    this.waiting = '';
    return waiting;
  }

  private write(text: string): void {
    this.writtenAt = this.options.now();
    const { response } = this.options;
    this.body.write(text);
    if (response.writableLength <= bufferLimitBytes || this.isFull) return;
    this.isFull = true;
    this.limitStall();
    this.options.onFull();
  }

  private end(text: string): void {
    this.isEnded = true;
    this.options.response.end(text);
    // The stall limit also holds for what is left in the buffer.
    this.limitStall();
  }

  /**
   * Uses the socket's own time-out, which every byte that the client reads restarts; `drain` comes only after the last.
   */
  private limitStall(): void {
    const { response, stallLimitMs } = this.options;
    if (!response.writableFinished) response.setTimeout(stallLimitMs);
  }

  private stalled(): void {
    this.isEnded = true;
    breakOff(this.options.response);
    this.options.onStalled();
  }

  private drained(): void {
    if (!this.isFull) return;
    this.isFull = false;
    this.options.response.setTimeout(0);
    this.writtenAt = this.options.now();
    if (!this.isEnded) this.options.onDrained();
  }
}
