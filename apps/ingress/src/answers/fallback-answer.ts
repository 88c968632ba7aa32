import { saturationRefusal, workersRefusal } from '@sluice/admission';
import {
  type ErrorKind,
  errorFrom,
  type GenerationEvent,
  isContent,
  isTerminal,
  SluiceError,
} from '@sluice/canonical';
import { fallbackReasons } from '@sluice/runtime';
import { type Exchange, noteAnotherModel, noteError, type Run } from '../exchange.ts';
import type { Services } from '../services.ts';
import { Answer } from './answer.ts';
import { type AnswerPlan, type AnswerSink, deadlineOf, type RunningAnswer } from './answer-plan.ts';
import type { ChoiceEvents } from './early-events.ts';
import { Prelude } from './prelude.ts';

/** Failures of a model that another one may not have. */
const failures: ReadonlySet<ErrorKind> = new Set([
  'saturated',
  'unavailable',
  'upstream-failed',
  'rate-limited',
]);
/** Refusals that are about the pool. The others are about the caller, or about all pools. */
const refusals: ReadonlySet<string> = new Set([saturationRefusal, workersRefusal]);
/** What a model says that may have room for the request later. */
const full: ReadonlySet<ErrorKind> = new Set(['saturated', 'rate-limited']);
/** What ends a request whatever models are left. */
const ends: ReadonlySet<ErrorKind> = new Set(['cancelled', 'deadline-exceeded', 'internal']);

/** Creates the answer of the plan's model, or of the first of its fallbacks that gives one. */
export function createAnswer(
  plan: AnswerPlan,
  exchange: Exchange,
  services: Services,
  sink: AnswerSink,
): RunningAnswer {
  if (plan.model.fallbacks.length === 0) return new Answer(plan, exchange, services, sink);
  return new FallbackAnswer(plan, exchange, services, sink);
}

/**
 * Turns to the next model as long as the client has got nothing of an answer. Each model's answer is admitted and
 * settled for itself, though a request counts once. If none answers, the client hears why the model that it asked for
 * does not.
 */
class FallbackAnswer implements RunningAnswer, AnswerSink {
  private readonly asked: AnswerPlan;
  private readonly exchange: Exchange;
  private readonly services: Services;
  private readonly sink: AnswerSink;
  private plan: AnswerPlan;
  /** The answer of this plan's model once it has begun, and until then of the one before. */
  private answer: Answer | undefined;
  /** How many of the fallbacks have been turned to. */
  private turns = 0;
  /** Why the model that was asked for does not answer; absent while it may. */
  private reason: SluiceError | undefined;
  /** After how long the first of the models may have room, as far as they say. */
  private soonestMs = Number.POSITIVE_INFINITY;
  /** How that model waited and ran; absent until another one was turned to. */
  private askedRun: Run | undefined;
  /** Absent if the answer is a single body. */
  private readonly prelude: Prelude | undefined;
  /** The ends of whole answers, until the last one is there: another model would begin them all anew. */
  private heldEnds: ChoiceEvents[] = [];
  /** Choices that have said anything beside thoughts since their last start. */
  private readonly answered = new Set<number>();
  /** Whether one of the answers was admitted, and so has counted as the request. */
  private isCounted = false;
  /** Whether the client has anything of an answer. */
  private isSeen = false;
  private isOver = false;
  private isPaused = false;

  constructor(plan: AnswerPlan, exchange: Exchange, services: Services, sink: AnswerSink) {
    this.asked = plan;
    this.plan = plan;
    this.exchange = exchange;
    this.services = services;
    this.sink = sink;
    this.prelude = sink.createEncoder && new Prelude(sink.createEncoder);
  }

  async begin(): Promise<void> {
    if (this.answer?.isAdmitted) this.isCounted = true;
    const { isCounted, exchange, services } = this;
    this.answer = new Answer({ ...this.plan, isCounted }, exchange, services, this);
    try {
      const beginning = this.answer.begin();
      this.passPause();
      await beginning;
      this.passPause();
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      const told = this.turn(error);
      if (told !== error) this.noteTurn(told);
      if (told) throw told;
      await this.begin();
    }
  }

  cancel(): void {
    this.isOver = true;
    this.answer?.cancel();
  }

  pause(): void {
    this.isPaused = true;
    this.answer?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.answer?.resume();
  }

  onEvents(choice: number, events: GenerationEvent[]): void {
    const { choices } = this.plan.call;
    if (events[0]?.type === 'start') this.answered.delete(choice);
    if (!this.answered.has(choice) && events.some(isAnswer)) this.answered.add(choice);
    if (this.prelude) this.pass(choice, this.prelude.take(choice, events));
    else if (events[events.length - 1]?.type !== 'finish') this.pass(choice, events);
    else {
      this.heldEnds.push([choice, events]);
      if (this.heldEnds.length === choices)
        for (const [its, held] of this.heldEnds.splice(0)) this.pass(its, held);
    }
  }

  hasShown(choice: number): boolean {
    return this.sink.hasShown?.(choice) ?? false;
  }

  onDefect(error: unknown): void {
    this.sink.onDefect(error);
  }

  onEnd(choice: number, events: readonly GenerationEvent[]): (() => void) | undefined {
    const failure = this.failureOf(choice, events);
    const told = failure && this.turn(failure);
    if (told === failure) return undefined;
    return () => {
      if (this.isOver) return;
      this.noteTurn(told);
      if (told) this.tell(told);
      else this.begin().catch((error: unknown) => this.tell(error));
    };
  }

  /**
   * Why the choice has failed; absent if it has not. A model whose only word is a reason of its own has failed, too.
   * Gemini ends so when the model makes a call that can't be read, and clients of generate content are told that word.
   */
  private failureOf(choice: number, events: readonly GenerationEvent[]): SluiceError | undefined {
    const last = events[events.length - 1];
    if (last?.type === 'error') return errorFrom(last.error);
    if (last?.type !== 'finish' || last.reason !== 'other') return undefined;
    const hasAnswered = events[0]?.type !== 'start' && this.answered.has(choice);
    if (hasAnswered || events.some(isAnswer)) return undefined;
    return new SluiceError(
      'upstream-failed',
      `the model ended without an answer: ${last.rawReason ?? last.reason}`,
    );
  }

  /** Turns to the next model. Returns what the client is told if it must not, or if none is left. */
  private turn(error: SluiceError): SluiceError | undefined {
    if (!this.mayTurn(error)) return error;
    this.reason ??= error;
    const { kind, options } = error;
    if (full.has(kind)) this.soonestMs = Math.min(this.soonestMs, options.retryAfterMs ?? this.soonestMs);
    this.prelude?.forget();
    this.heldEnds = [];
    const { asked, exchange, services } = this;
    const id = asked.model.fallbacks[this.turns];
    this.turns += 1;
    const model = id === undefined ? undefined : services.catalog.models.get(id);
    const pool = model && services.catalog.pools.get(model.pool);
    if (!model || !pool) return withWait(this.reason, this.soonestMs);
    const reason = fallbackReasons.find((known) => known === error.kind) ?? 'other';
    services.metrics.fallbacks.inc({ model: asked.model.id, fallback: model.id, reason });
    exchange.span?.addEvent(`fallback to ${model.id}: ${error.kind}`, services.monotonic());
    const deadlineAt = Math.min(asked.deadlineAt, deadlineOf(model, services));
    this.plan = { ...asked, id: `${asked.id}m${this.turns}`, model, pool, deadlineAt };
    return undefined;
  }

  /** Notes who is to answer, after the answer before was settled, or how the model that was asked for has failed. */
  private noteTurn(told: SluiceError | undefined): void {
    const { asked, plan, exchange } = this;
    const before = noteAnotherModel(exchange, asked.model.id, told ? asked.model.id : plan.model.id);
    this.askedRun ??= before;
    if (told) Object.assign(exchange, this.askedRun);
  }

  private mayTurn({ kind, options: { detail, refusedBy } }: SluiceError): boolean {
    if (this.isOver || this.isSeen) return false;
    // A request that takes workers down would do so in every pool.
    if (detail === 'poison' || detail === 'drained') return false;
    // Why ever a fallback can't answer, that does not change what is wrong with the model that was asked for.
    if (this.reason) return !ends.has(kind) || (kind === 'deadline-exceeded' && this.hasEarlierDeadline);
    return refusedBy === undefined ? failures.has(kind) : refusals.has(refusedBy);
  }

  private get hasEarlierDeadline(): boolean {
    return this.plan.deadlineAt < this.asked.deadlineAt;
  }

  /** Ends the request with an error after `begin` has been awaited. */
  private tell(error: unknown): void {
    if (this.isOver) return;
    if (!(error instanceof SluiceError)) {
      this.sink.onDefect(error);
      return;
    }
    const { info } = error;
    this.sink.onEvents(0, [{ type: 'error', error: info }]);
    noteError(this.exchange, info);
  }

  private pass(choice: number, events: GenerationEvent[]): void {
    if (events.length === 0) return;
    // A client that does not read along has nothing before an end.
    this.isSeen ||= this.prelude !== undefined || events.some(isTerminal);
    this.sink.onEvents(choice, events);
  }

  private passPause(): void {
    if (this.isPaused) this.answer?.pause();
  }
}

function isAnswer(event: GenerationEvent): boolean {
  const isEmpty = event.type === 'text-delta' && event.text === '';
  return isContent(event) && event.type !== 'reasoning-delta' && !isEmpty;
}

/** The error with the wait after which another model may answer, if that is shorter. */
function withWait(error: SluiceError, waitMs: number): SluiceError {
  const { kind, message, options } = error;
  if (options.retryAfterMs === undefined || options.retryAfterMs <= waitMs) return error;
  return new SluiceError(kind, message, { ...options, retryAfterMs: waitMs });
}
