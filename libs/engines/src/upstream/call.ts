import {
  type ErrorEvent,
  type ErrorInfo,
  errorInfoOf,
  type GenerationEvent,
  isContent,
  isTerminal,
  nothingSpent,
  SluiceError,
} from '@sluice/canonical';
import { type ClientCodec, type GenerationContext, isUnreadable } from '@sluice/formats';
import type { Call, Connection, Failure, Pool, ResponseHead, WireRequest } from '@sluice/http';
import type { Seat } from '@sluice/runtime';
import type { FailureFacts } from '../engine.ts';
import { type AnswerReader, createAnswerReader } from './answer/answer-reader.ts';
import { type Resting, type Rests, restMs, StreamRate } from './answer/rests.ts';
import { estimateTokensOf } from './answer/token-estimate.ts';
import { connectionFailure, cutOff, factsOf, presentFailure, silent } from './failure.ts';
import type { Limited, TimeLimits } from './time-limits.ts';

/** How long a finished answer may take to close its body, so that the connection can be reused. */
export const lingerMs = 1000;

const nothing: WireRequest = { text: '', isAscii: true };
const nothingKnown: FailureFacts = {};

/** What all calls to one server have in common. */
export interface CallServices {
  pool: Pool;
  /** Of answers that are awaited. */
  limits: TimeLimits;
  /** Of rests of answers, which are awaited for `lingerMs`. */
  lingering: TimeLimits;
  rests: Rests;
  codec: ClientCodec;
  /** Texts of the settings that no client may see. */
  secrets: readonly string[];
  firstEventTimeoutMs: number;
  idleTimeoutMs: number;
  /** Monotonic milliseconds. */
  now(): number;
  /** Called once for each answer or failed connection, with its status, or the reason why there was none. */
  onContact(status: number | undefined, why?: string): void;
}

/** What is special about one call. */
export interface CallPlan {
  context: GenerationContext;
  signal: AbortSignal;
  emit(event: GenerationEvent): void;
  onFailure?(facts: FailureFacts): void;
  onEnd(): void;
}

/**
 * One generation over HTTP: sends the request, reads the answer, enforces its time limits and closes the connection.
 * Emits exactly one terminal event, or nothing more once the signal has aborted.
 */
export class UpstreamCall implements Call, Limited, Resting {
  request: WireRequest;
  connection: Connection | undefined;
  dueAt: number;
  seat: Seat<Limited> | undefined;
  private readonly services: CallServices;
  private readonly plan: CallPlan;
  private readonly rate = new StreamRate();
  private reader: AnswerReader | undefined;
  /** Whether the server is known to have generated nothing. */
  private isRefused = false;
  private facts: FailureFacts = nothingKnown;
  private hasContent = false;
  /** When the first content is due. */
  private readonly beginsBy: number;
  private hasEnded = false;
  private isBodyComplete = false;
  private readonly abort = () => this.finish();
  /** Where its time is watched. */
  private limits: TimeLimits;

  constructor(services: CallServices, request: WireRequest, plan: CallPlan) {
    this.services = services;
    this.plan = plan;
    this.request = request;
    // The limit starts here, because waiting for a connection counts.
    this.beginsBy = services.limits.after(services.firstEventTimeoutMs);
    this.dueAt = this.beginsBy;
    this.limits = services.limits;
  }

  open(): void {
    this.plan.signal.addEventListener('abort', this.abort);
    this.limits.watch(this);
    this.services.pool.send(this);
  }

  get wantsNoMore(): boolean {
    return this.hasEnded;
  }

  head(head: ResponseHead): void {
    this.services.onContact(head.status);
    // It will not be sent again, and it may hold images.
    this.request = nothing;
    this.isRefused = head.status > 299;
    if (this.isRefused) {
      this.facts = factsOf(head);
      // The words of a refusal are awaited for a shorter time than an answer.
      this.linger();
    }
    try {
      this.reader = createAnswerReader(this.services.codec, this.plan.context, head);
    } catch (thrown) {
      this.refuse(thrown);
    }
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (this.hasEnded || !this.reader) return;
    try {
      const events = this.reader.push(bytes.subarray(start, end));
      // For example, a second call says nothing before the first has ended, which may take long.
      if (events.length === 0 && this.reader.goesOn()) this.moveOn();
      this.pass(events);
    } catch (thrown) {
      this.refuse(thrown);
    }
  }

  end(): void {
    this.isBodyComplete = true;
    this.conclude();
    this.breakOff(cutOff());
    this.limits.forget(this);
  }

  fail(failure: Failure, code?: string): void {
    this.isBodyComplete = true;
    if (this.hasEnded) {
      this.limits.forget(this);
      return;
    }
    if (!this.reader) {
      this.isRefused = true;
      this.facts = { why: code ?? failure };
      this.services.onContact(undefined, code ?? failure);
    }
    this.breakOff(connectionFailure(failure, this.reader !== undefined));
  }

  rests(): boolean {
    if (this.hasEnded || !this.rate.isFast(this.services.now())) return false;
    this.services.rests.add(this);
    // The silence during a rest is our own doing.
    this.dueAt += restMs;
    return true;
  }

  resume(): void {
    this.connection?.resume();
  }

  /** Timers run before sockets are read: if our own event loop was blocked, the event may already be there. */
  expire(): void {
    const { dueAt } = this;
    this.dueAt = Number.POSITIVE_INFINITY;
    if (this.hasEnded) {
      this.limits.forget(this);
      this.close();
      return;
    }
    setImmediate(() => {
      if (this.dueAt === Number.POSITIVE_INFINITY && !this.hasEnded) this.failSilent(dueAt);
    });
  }

  /** A codec's complaint about the answer fails the generation, not the process. */
  private refuse(thrown: unknown): void {
    if (this.hasEnded) return;
    // What is thrown while an answer is read is in words of ours, unless it is a fault in our code.
    this.explain(thrown instanceof SluiceError ? thrown.message : 'the answer cannot be read');
    this.failWith(errorInfoOf(thrown));
  }

  private pass(events: readonly GenerationEvent[]): void {
    if (events.length === 0) return;
    this.hasContent ||= events.some(isContent);
    this.rate.add(events.length);
    this.moveOn();
    estimateTokensOf(events, this.services.codec.servers.sayTokenByToken);
    for (const event of events) {
      // A receiver may abort in the middle of a batch.
      if (this.hasEnded) return;
      if (event.type === 'error') this.failAs(event);
      else this.emit(event);
    }
  }

  private failAs(event: ErrorEvent): void {
    const { error } = event;
    // A server's own words may quote what was said.
    if (!this.isRefused) this.explain(isUnreadable(error) ? error.message : 'the answer reports an error');
    this.failWith(error, event);
  }

  /** Notes the reason of the failure for a log, unless one is known. */
  private explain(why: string): void {
    this.facts = { why, ...this.facts };
  }

  /** Some servers open an answer at once and then think: until there is content, it has not begun. */
  private moveOn(): void {
    const at = this.services.limits.after(this.services.idleTimeoutMs);
    this.dueAt = this.hasContent ? at : Math.max(at, this.beginsBy);
  }

  private linger(): void {
    this.limits.forget(this);
    this.limits = this.services.lingering;
    this.dueAt = this.limits.after(lingerMs);
    this.limits.watch(this);
  }

  /** Something was due at this instant. */
  private failSilent(dueAt: number): void {
    if (!this.isRefused && this.concludeIfWhole()) return;
    const { firstEventTimeoutMs, idleTimeoutMs } = this.services;
    // Pieces without content may have moved it.
    const beganMs = Math.round(firstEventTimeoutMs + dueAt - this.beginsBy);
    this.breakOff(silent(this.hasContent ? idleTimeoutMs : beganMs, !this.hasContent));
  }

  /** Some servers leave a stream open that has said that it is finished. Returns whether this one had. */
  private concludeIfWhole(): boolean {
    try {
      const events = this.reader?.end() ?? [];
      if (events.at(-1)?.type !== 'finish') return false;
      this.pass(events);
      return true;
    } catch {
      // Half of a JSON body.
      return false;
    }
  }

  /** Nothing more comes. A refusal is already known from its head: many servers close before the rest is read. */
  private breakOff(error: ErrorInfo): void {
    if (this.isRefused) this.conclude();
    if (this.hasEnded) return;
    this.explain(error.message);
    this.failWith(error);
  }

  private conclude(): void {
    try {
      if (!this.hasEnded && this.reader) this.pass(this.reader.end());
    } catch (thrown) {
      this.refuse(thrown);
    }
  }

  private emit(event: GenerationEvent): void {
    this.plan.emit(event);
    if (isTerminal(event) && !this.hasEnded) this.settle();
  }

  private failWith(info: ErrorInfo, event: Pick<ErrorEvent, 'usage'> = {}): void {
    const error = presentFailure(info, this.services.secrets);
    const usage = event.usage ?? (this.isRefused ? nothingSpent : undefined);
    this.plan.onFailure?.(this.facts);
    this.plan.emit({ type: 'error', error, ...(usage && { usage }) });
    if (!this.hasEnded) this.finish();
  }

  /** The answer is complete. Its connection may be reused once the body has ended. */
  private settle(): void {
    this.release();
    if (this.isBodyComplete) this.limits.forget(this);
    else this.linger();
  }

  /** Ends the call; the rest of the answer, if any, is not wanted. */
  private finish(): void {
    this.release();
    this.limits.forget(this);
    if (!this.isBodyComplete) this.close();
  }

  private release(): void {
    this.hasEnded = true;
    this.plan.signal.removeEventListener('abort', this.abort);
    this.plan.onEnd();
  }

  private close(): void {
    this.services.pool.abort(this);
  }
}
