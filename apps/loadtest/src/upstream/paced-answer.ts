import type { ResponseWriter } from '@sluice/http';
import type { Clock } from '../clock.ts';
import { formatToken } from '../requests/token-text.ts';
import type { Pace } from './pace.ts';
import type { End, Voice } from './voice.ts';

/** One answer that is written at a pace. */
export interface PacedAnswerOptions {
  response: ResponseWriter;
  voice: Voice;
  pace: Pace;
  /** Number of tokens: the pace's, or the caller's limit if that is lower. */
  tokens: number;
  end: End;
  clock: Clock;
  /** Called with the number of tokens that were just written. */
  wrote(tokens: number): void;
  /** Called once; `isWhole` is false if the client left or the pace cut the connection. */
  over(isWhole: boolean): void;
}

/**
 * Streams tokens by an absolute timetable: a write that is late does not delay the next ones. Waits for readers that
 * are slower than the timetable, and stops when the client leaves.
 */
export class PacedAnswer {
  private readonly options: PacedAnswerOptions;
  private readonly startedAt: number;
  private said = 0;
  private writes = 0;
  private timer: NodeJS.Timeout | undefined;
  private immediate: NodeJS.Immediate | undefined;
  private isOver = false;
  private isFull = false;

  constructor(options: PacedAnswerOptions) {
    this.options = options;
    this.startedAt = options.clock.now();
    const { response } = options;
    response.on('close', () => this.finish(response.writableFinished));
    response.on('drain', () => {
      this.isFull = false;
      this.schedule();
    });
    this.schedule();
  }

  private schedule(): void {
    const { pace, clock } = this.options;
    if (this.isOver || this.isFull) return;
    const waitMs = this.startedAt + pace.firstTokenMs + this.writes * pace.gapMs - clock.now();
    if (waitMs > 0) this.timer = setTimeout(this.speak, waitMs);
    else this.immediate = setImmediate(this.speak);
  }

  private readonly speak = (): void => {
    const { response, voice, pace, tokens, end, clock, wrote } = this.options;
    if (this.isOver) return;
    let text = '';
    if (this.writes === 0) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
      });
      text = voice.start();
    }
    const last = Math.min(tokens, this.said + pace.tokensPerWrite, pace.cutAfter ?? Infinity);
    const emittedAt = pace.isStamped ? clock.now() : undefined;
    wrote(last - this.said);
    for (; this.said < last; this.said++) text += voice.token(formatToken(this.said, emittedAt));
    this.writes += 1;
    if (this.said === pace.cutAfter && this.said < tokens) {
      response.write(text);
      response.socket?.destroySoon();
    } else if (this.said === tokens) {
      response.end(text + voice.end(end, tokens));
    } else {
      response.write(text);
      this.isFull = response.socket?.writableNeedDrain ?? false;
      this.schedule();
    }
  };

  private finish(isWhole: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    clearImmediate(this.immediate);
    this.options.over(isWhole);
  }
}
