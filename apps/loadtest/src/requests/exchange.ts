import type { Call, Connection, Failure, ResponseHead, WireRequest } from '@sluice/http';
import type { Clock } from '../clock.ts';
import type { EventFacts } from '../dialects/dialect.ts';
import { wrongTextClass } from '../measures/error-classes.ts';
import type { Finished, Outcome, Recorder } from '../measures/recorder.ts';
import type { PlannedRequest } from './request-factory.ts';
import { retryWaitMs, unreachableWaitMs } from './retry-wait.ts';
import { type LineShape, type ScannerSink, SseScanner } from './sse-scanner.ts';
import type { TextCheck, TextChecker } from './text-check.ts';
import { isTokenText, type TextProblem, TokenReader } from './token-text.ts';
import { WholeBody } from './whole-body.ts';

/** The last of the bytes that are blank. */
const blank = 32;
/** First bytes of JSON, or of an HTML page: a body that begins so is not a stream. */
const nothingOfStreams = Buffer.from('{[<');

/** What all exchanges of a process share. */
export interface ExchangeContext {
  clock: Clock;
  recorder: Recorder;
  shapes: Readonly<Record<string, LineShape>>;
  /** Whether a problem in numbered text makes an answer fail. */
  verifiesTokens: boolean;
  /** Absent: no text is compared with a reference. */
  checker: TextChecker | undefined;
  /** The client of this exchange leaves: end its connection. */
  leave(exchange: Exchange): void;
  /** Why the run has ended, if that ends an exchange. */
  runEnd(): 'interrupted' | 'unfinished';
  /** The exchange is over, for whatever reason; called once. */
  over(exchange: Exchange): void;
}

/** One request from its arrival to its end, and all that is measured on the way. */
export class Exchange implements Call, ScannerSink, Finished {
  readonly request: WireRequest;
  readonly readBytesPerSecond: number | undefined;
  connection: Connection | undefined;
  readonly intendedAt: number;
  readonly readyAt: number;
  readonly isMeasured: boolean;
  readonly isLeaver: boolean;
  sentAt = 0;
  firstAt = 0;
  lastAt = 0;
  endedAt = 0;
  tokens = 0;
  queueWaitMs: number | undefined;
  /** How long the server asks its caller to wait before another request. */
  retryWaitMs = 0;
  private readonly plan: PlannedRequest;
  private readonly context: ExchangeContext;
  private status = 0;
  private scanner: SseScanner | undefined;
  private whole: WholeBody | undefined;
  private readAt = 0;
  private burst = 0;
  private outputTokens: number | undefined;
  private thoughtTokens = 0;
  private showsThoughts = false;
  private isComplete = false;
  private errorClass: string | undefined;
  private reader: TokenReader | undefined;
  private check: TextCheck | undefined;
  private hasText = false;
  private isOver = false;
  private abortTimer: NodeJS.Timeout | undefined;

  constructor(
    plan: PlannedRequest,
    context: ExchangeContext,
    intendedAt: number,
    readyAt: number,
    isMeasured: boolean,
  ) {
    this.plan = plan;
    this.context = context;
    this.request = plan.wire;
    this.readBytesPerSecond = plan.readBytesPerSecond;
    this.intendedAt = intendedAt;
    this.readyAt = readyAt;
    this.isMeasured = isMeasured;
    this.isLeaver = (plan.abortAfterMs ?? plan.abortAfterTokens) !== undefined;
  }

  get isStream(): boolean {
    return this.plan.isStream;
  }

  get isSlow(): boolean {
    return this.readBytesPerSecond !== undefined;
  }

  sent(): void {
    // Sent again after a reset: its caller has waited since the first time.
    if (this.sentAt > 0) return;
    this.sentAt = this.context.clock.now();
    const { abortAfterMs } = this.plan;
    if (abortAfterMs !== undefined) this.abortTimer = setTimeout(() => this.abandon(), abortAfterMs);
  }

  head(head: ResponseHead): void {
    this.status = head.status;
    this.queueWaitMs = readNumber(head.header('x-sluice-queue-wait-ms'));
    this.retryWaitMs = retryWaitMs(head.status, head.header('retry-after'), Date.now());
    if (head.status !== 200 || !this.plan.isStream) this.whole = new WholeBody();
    const coding = head.header('content-encoding') || 'identity';
    // No encoding was asked for.
    if (head.status === 200 && coding !== 'identity') this.errorClass = `encoded body: ${printable(coding)}`;
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (this.isOver) return;
    this.context.recorder.bytes(end - start, this.isMeasured);
    if (!this.scanner && !this.whole) this.openStream(bytes, start, end);
    if (this.scanner) {
      this.readAt = this.context.clock.now();
      this.scanner.push(bytes, start, end);
      if (this.burst > 0) this.flushBurst();
    } else if (this.whole?.push(bytes, start, end) === false) {
      if (this.errorClass === undefined) this.readWhole(this.whole);
      this.context.leave(this);
      this.settle();
    }
  }

  text(bytes: Buffer, start: number, end: number): void {
    // The rest of a read in which the client left.
    if (this.isOver) return;
    const tokens = this.readText(bytes, start, end);
    if (this.firstAt === 0) this.firstAt = this.readAt;
    this.burst += tokens;
    const { abortAfterTokens } = this.plan;
    if (abortAfterTokens !== undefined && this.tokens + this.burst >= abortAfterTokens) this.abandon();
  }

  facts(facts: EventFacts): void {
    if (facts.outputTokens !== undefined) this.outputTokens = facts.outputTokens;
    if (facts.thoughtTokens !== undefined) this.thoughtTokens = facts.thoughtTokens;
    if (facts.isThought === true) this.showsThoughts = true;
    if (facts.isEnd === true) this.isComplete = true;
    if (facts.error !== undefined) this.errorClass ??= `stream error: ${printable(facts.error)}`;
  }

  malformed(): void {
    this.errorClass ??= 'malformed event';
  }

  end(): void {
    this.scanner?.end();
    if (this.burst > 0) this.flushBurst();
    if (this.whole && this.errorClass === undefined) this.readWhole(this.whole);
    else if (!this.isComplete) this.errorClass ??= 'cut stream';
    this.errorClass ??= this.textProblem();
    this.settle();
  }

  fail(failure: Failure, code?: string): void {
    if (failure === 'closed') {
      if (this.context.runEnd() === 'interrupted') this.abandon('interrupted');
      else this.expire('unfinished');
      return;
    }
    const isCut = this.status > 0 && !this.whole && failure === 'reset';
    // All ends of connections are one class. A connection that could not be made also names the system's reason.
    if (failure === 'connect') this.retryWaitMs = unreachableWaitMs;
    const cause = failure === 'connect' && code !== undefined ? ` ${code}` : '';
    // A stream has ended with its terminal event, however its connection ends.
    if (isCut && this.isComplete) this.errorClass ??= this.textProblem();
    else this.errorClass ??= isCut ? 'cut stream' : `connection: ${failure}${cause}`;
    this.settle();
  }

  /** Gives up on the server. Does nothing when the exchange is over. */
  expire(errorClass: 'timeout' | 'unfinished'): void {
    if (this.isOver) return;
    if (this.isSlow || this.isLeaver) {
      // A slow reader, or a client that leaves on purpose, took this long by intent: no failure.
      this.abandon();
      return;
    }
    this.errorClass = errorClass;
    this.context.leave(this);
    this.settle();
  }

  /** Leaves in the middle, on purpose or because the run ends. Does nothing when the exchange is over. */
  abandon(kind: 'aborted' | 'interrupted' = 'aborted'): void {
    if (this.isOver) return;
    if (this.burst > 0) this.flushBurst();
    this.context.leave(this);
    this.close({ kind });
  }

  /** Decides by the first byte whether a body is a stream: not every server sends a content type, or the right one. */
  private openStream(bytes: Buffer, start: number, end: number): void {
    const { dialect } = this.plan;
    const shape = this.context.shapes[dialect.format];
    const first = bytes.subarray(start, end).find((byte) => byte > blank);
    if (first !== undefined && nothingOfStreams.includes(first)) this.whole = new WholeBody();
    else if (first !== undefined && shape) this.scanner = new SseScanner(dialect, shape, this);
  }

  /** Tokens that came in one read have one instant: they are recorded together. */
  private flushBurst(): void {
    const gapMs = this.tokens === 0 ? -1 : this.readAt - this.lastAt;
    const { recorder } = this.context;
    if (this.isSlow) recorder.wholeTokens(this.burst, this.readAt, this.isMeasured);
    else recorder.tokens(this.burst, this.readAt, gapMs, this.isMeasured);
    this.tokens += this.burst;
    this.lastAt = this.readAt;
    this.burst = 0;
  }

  /** How many tokens the text brought: as numbered, else one per event. */
  private readText(bytes: Buffer, start: number, end: number): number {
    if (!this.hasText) {
      this.hasText = true;
      const { checker, verifiesTokens } = this.context;
      this.check = checker?.open(this.plan.question);
      if (verifiesTokens || isTokenText(bytes, start, end)) this.reader = new TokenReader(this.stamped);
    }
    if (this.check?.push(bytes, start, end) === false) this.malformed();
    return this.reader ? this.reader.push(bytes, start, end) : 1;
  }

  private readonly stamped = (emittedAt: number): void => {
    if (this.scanner && this.isMeasured && !this.isSlow) {
      this.context.recorder.metrics.transit.record(this.readAt - emittedAt);
    }
  };

  private readWhole(whole: WholeBody): void {
    const body = whole.read();
    const { dialect, isStream } = this.plan;
    if (this.status !== 200) {
      const type = dialect.readError(body);
      this.errorClass = `http ${this.status}${type === undefined ? '' : ` ${printable(type)}`}`;
      return;
    }
    const facts = isStream ? {} : dialect.readAnswer(body);
    if (facts.error !== undefined || facts.isEnd !== true) {
      const noAnswer = isStream ? 'not a stream' : 'malformed answer';
      this.errorClass = facts.error === undefined ? noAnswer : `answer error: ${printable(facts.error)}`;
      return;
    }
    this.outputTokens = facts.outputTokens;
    const text = Buffer.from(JSON.stringify(facts.text ?? '').slice(1, -1));
    const seen = text.length > 0 ? this.readText(text, 0, text.length) : 0;
    this.tokens = this.outputTokens ?? seen;
    const { recorder, clock } = this.context;
    recorder.wholeTokens(this.tokens, clock.now(), this.isMeasured);
  }

  private textProblem(): string | undefined {
    const last = this.reader?.end() ?? 0;
    if (last > 0 && this.scanner) {
      this.burst += last;
      this.flushBurst();
    }
    const { checker, verifiesTokens } = this.context;
    // An answer without any text was not opened by readText.
    if (!this.hasText && checker) this.check = checker.open(this.plan.question);
    const problem: TextProblem | undefined =
      (verifiesTokens ? this.reader?.problem : undefined) ?? this.check?.end();
    return problem && wrongTextClass(problem);
  }

  private settle(): void {
    if (this.isOver) return;
    const { errorClass, outputTokens = 0, context } = this;
    // Servers put several tokens into one event, and do not show all of their thoughts.
    const unseen = outputTokens - this.tokens;
    if (unseen > 0) context.recorder.wholeTokens(unseen, context.clock.now(), this.isMeasured);
    // Thoughts that are not shown came before the first token, so they are no part of the time per token.
    this.tokens = Math.max(this.tokens, outputTokens - (this.showsThoughts ? 0 : this.thoughtTokens));
    if (errorClass === undefined) this.close({ kind: 'ok' });
    else this.close({ kind: this.status === 429 ? 'refused' : 'failed', errorClass });
  }

  private close(outcome: Outcome): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.abortTimer);
    this.endedAt = this.context.clock.now();
    this.context.recorder.finished(this, outcome);
    this.context.over(this);
  }
}

function readNumber(text: string | undefined): number | undefined {
  const value = Number(text ?? Number.NaN);
  return Number.isNaN(value) ? undefined : value;
}

/** An error type from the outside as a class name: short, one line. */
function printable(type: string): string {
  return type.replace(/[^\w .-]/g, '').slice(0, 40);
}
