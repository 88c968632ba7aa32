import type { Claim, Ticket } from '@sluice/admission';
import {
  estimateInputTokens,
  type GenerationEvent,
  isTerminal,
  outputLimit,
  SluiceError,
  type Usage,
} from '@sluice/canonical';
import { inClientWords } from '@sluice/formats';
import { type InferenceJob, type QueueEntry, queueEntry } from '@sluice/transport';
import type { Dispatched, GenerationPlan } from '../dispatch/generation.ts';
import { type Exchange, noteAttempts, noteEvents, noteUsage } from '../exchange.ts';
import type { Services } from '../services.ts';
import type { AnswerPlan, AnswerSink, RunningAnswer } from './answer-plan.ts';
import { withChoiceSeed } from './choice-seed.ts';
import { EarlyEvents } from './early-events.ts';
import { type Enter, jointEntrance } from './joint-entrance.ts';
import { SlotTime } from './slot-time.ts';
import { Spending } from './spending.ts';

/** Prompts of more bytes are not sent to Redis with the question for admission, but once admitted, a few at a time. */
const largePrompts = 32 * 1024;

/**
 * All generations of one request under one ticket, from admission to settlement. However the request ends (finished,
 * failed, client gone), the ticket is settled exactly once and nothing is left running.
 */
export class Answer implements RunningAnswer {
  private readonly plan: AnswerPlan;
  private readonly exchange: Exchange;
  private readonly services: Services;
  private readonly sink: AnswerSink;
  private readonly generations: (Dispatched | undefined)[];
  private ticket: Ticket | undefined;
  /** Absent once the reply of admission is there. */
  private early: EarlyEvents | undefined = new EarlyEvents();
  private readonly slotTime: SlotTime;
  private readonly spending: Spending;
  /** The tokens that the prompt is charged as if no engine reports them. */
  private estimatedInputTokens = 0;
  /** Choices whose end has not been delivered to the client. */
  private open: number;
  /** Open choices whose worker is already done, each with the usage that it reported; absent until the first. */
  private ahead: Map<number, Usage> | undefined;
  private isSettled = false;
  /** What follows a failure as soon as the ticket is settled; absent means nothing. */
  private afterwards: (() => void) | undefined;
  private isLarge = false;
  /** Ends the wait of a large prompt for its turn. */
  private waiting: AbortController | undefined;

  constructor(plan: AnswerPlan, exchange: Exchange, services: Services, sink: AnswerSink) {
    this.plan = plan;
    this.exchange = exchange;
    this.services = services;
    this.sink = sink;
    this.open = plan.call.choices;
    this.slotTime = new SlotTime(plan.call.choices);
    this.spending = new Spending(plan.call.choices);
    this.generations = new Array<Dispatched | undefined>(plan.call.choices).fill(undefined);
  }

  /**
   * Begins the answer: at once, or for a large prompt when it is its turn. Throws if the prompt is too large; rejects
   * with the refusal, or `unavailable`.
   */
  begin(): Promise<void> {
    const bytes = this.promptBytes();
    this.isLarge = bytes > largePrompts;
    if (!this.isLarge) return this.dispatchAll();
    // The wait comes before the dispatch: a dispatched job that is still here would be missed in the queue.
    this.waiting = new AbortController();
    return this.services.promptPassage.run(bytes, this.waiting.signal, () => this.dispatchAll());
  }

  /** Whether admission has said yes. */
  get isAdmitted(): boolean {
    return !this.early;
  }

  cancel(): void {
    if (this.isSettled) return;
    this.waiting?.abort();
    for (const generation of this.generations) generation?.cancel();
    this.settle();
  }

  pause(): void {
    for (const generation of this.generations) generation?.pause();
  }

  resume(): void {
    for (const generation of this.generations) generation?.resume();
  }

  private async admit(jobs: readonly InferenceJob[]): Promise<void> {
    const { plan, exchange, services } = this;
    const { model, pool, request, caller } = plan;
    const estimatedInputTokens = estimateInputTokens(request);
    this.estimatedInputTokens = estimatedInputTokens;
    const claim: Claim = {
      requestId: plan.id,
      tenant: caller.tenant,
      keyId: caller.keyId,
      weight: caller.weight,
      model: model.id,
      pool: pool.name,
      jobs: jobs.length,
      estimatedInputTokens,
      limits: caller.limits,
      poolPolicy: { slots: services.directory.slotsOf(pool.name), waitBudgetMs: pool.waitBudgetMs },
    };
    const maxOutputTokens = outputLimit(request, model, estimatedInputTokens);
    if (maxOutputTokens !== undefined) claim.maxOutputTokens = maxOutputTokens;
    if (plan.isCounted) claim.isCounted = true;
    if (pool.maxWaiting !== undefined) claim.poolPolicy.maxWaiting = pool.maxWaiting;
    const entries = (): QueueEntry[] => (this.isLarge ? [] : jobs.map(queueEntry));
    const isRunning = () => this.slotTime.hasBegun;
    this.ticket = await services.admission.admit(claim, { entries, isRunning }, (rates) => {
      exchange.rates = rates;
    });
    services.metrics.requestsInFlight.inc({ format: exchange.format });
    const { ticket, early } = this;
    this.early = undefined;
    for (const [choice, events] of early?.release() ?? []) this.pass(choice, events);
    if (!this.isLarge || this.isSettled) return;
    try {
      await Promise.all(
        jobs.map((job, index) => services.queue.enqueue(pool.name, job, ticket.priorityOf(index))),
      );
    } catch (error) {
      // Redis took at least one job, and only its reply was lost. A job that it did not take is found missing and sent
      // again.
      if (!isRunning()) throw error;
    }
  }

  /** Admits the request and enqueues its generations in one step. */
  private async dispatchAll(): Promise<void> {
    const { choices } = this.plan.call;
    const enter = jointEntrance(choices, (jobs) => this.admit(jobs));
    try {
      if (choices === 1) await this.dispatch(0, enter);
      else await Promise.all(this.generations.map((_, choice) => this.dispatch(choice, enter)));
    } catch (error) {
      this.cancel();
      if (!this.afterwards) throw error;
      // No reservation is there to be settled first.
      if (this.early) this.afterwards();
    } finally {
      // The client left, or the answer even ended, while admission was pending.
      if (this.isSettled) this.releaseTicket();
    }
  }

  /** Bytes that the prompt takes in all jobs together, which each hold a copy. Throws if they exceed the body limit. */
  private promptBytes(): number {
    const jobs = this.generations.length;
    const bytes = (this.exchange.bodyBytes ?? 0) * jobs;
    if (jobs === 1 || bytes <= this.services.bodyLimitBytes) return bytes;
    throw new SluiceError('too-large', `the prompt is too large for ${jobs} answers at once: ask for fewer`);
  }

  private dispatch(choice: number, enter: Enter): Promise<void> {
    const { plan, exchange, services } = this;
    const { model, request, caller } = plan;
    const requestId = choice === 0 ? plan.id : `${plan.id}c${choice}`;
    const job: GenerationPlan['job'] = {
      version: 1,
      requestId,
      replyTo: services.ingress,
      tenant: caller.tenant,
      model: model.id,
      deadlineAt: plan.deadlineAt,
      request: withChoiceSeed(request, choice),
      clientFormat: exchange.format,
    };
    Object.assign(job, plan.trace);
    const generation = services.dispatcher.open({
      requestId,
      pool: model.pool,
      isPlainText: request.tools === undefined && request.output?.type !== 'json',
      readerFormat: plan.call.stream ? exchange.format : undefined,
      hasShown: () => this.sink.hasShown?.(choice) ?? false,
      job,
      enter,
      onEvents: (events) => this.receive(choice, events),
      onClaimed: (queueWaitMs) => this.claimed(choice, queueWaitMs),
      onAnotherAttempt: (reason) =>
        exchange.span?.addEvent(`another attempt: ${reason}`, services.monotonic()),
      onWorkerDone: (usage) => this.workerDone(choice, usage),
    });
    this.generations[choice] = generation;
    return generation.begin();
  }

  private claimed(choice: number, queueWaitMs: number): void {
    const at = this.services.monotonic();
    this.slotTime.began(choice, at);
    this.exchange.queueWaitMs ??= queueWaitMs;
    this.exchange.claimedAt ??= at;
    this.services.metrics.queueWait.observe({ pool: this.plan.pool.name }, queueWaitMs);
  }

  private receive(choice: number, events: GenerationEvent[]): void {
    if (!this.early) this.pass(choice, events);
    else for (const [its, ready] of this.early.take(choice, events)) this.pass(its, ready);
  }

  private pass(choice: number, events: GenerationEvent[]): void {
    if (this.isSettled) return;
    const [first] = events;
    if (first?.type === 'start') this.spending.began(first);
    let last = events[events.length - 1];
    let instead: (() => void) | undefined;
    if (last?.type === 'error') {
      last = { ...last, error: inClientWords(last.error, this.plan.request, this.exchange.format) };
      events[events.length - 1] = last;
    }
    if (last && isTerminal(last)) {
      this.open -= 1;
      if (last.type === 'finish') this.slotTime.ended(choice, this.services.monotonic());
      else this.slotTime.failed(choice, last.error.kind);
      this.spending.ended(last, this.deliveredBy(choice), this.ahead?.get(choice));
      this.ahead?.delete(choice);
      this.freePlaces();
      instead = this.sink.onEnd?.(choice, events);
    }
    if (instead) {
      // What it has reserved, above all its place in the pool, must not be what the other one is refused for.
      this.afterwards = instead;
      this.cancel();
      return;
    }
    try {
      this.sink.onEvents(choice, events);
    } catch (error) {
      this.cancel();
      this.sink.onDefect(error);
      return;
    }
    noteEvents(this.exchange, events, this.services);
    this.ticket?.sawOutput(this.deliveredTokens());
    // One failed choice fails the whole request: the client sees one error.
    if (last?.type === 'error') this.cancel();
    else if (this.open === 0) this.settle();
  }

  private workerDone(choice: number, usage: Usage): void {
    if (this.isSettled) return;
    this.ahead ??= new Map();
    this.ahead.set(choice, usage);
    this.slotTime.ended(choice, this.services.monotonic());
    this.freePlaces();
  }

  /** Frees the request's places in the pool once all its workers are done, even if the client still reads. */
  private freePlaces(): void {
    const { ticket, ahead, open, slotTime } = this;
    if (!ticket || !ahead || ahead.size < open || open === 0 || slotTime.meanMs === undefined) return;
    ticket.freePlaces(slotTime.meanMs);
  }

  private deliveredBy(choice: number): number {
    return this.generations[choice]?.deliveredTokens ?? 0;
  }

  private deliveredTokens(): number {
    let tokens = 0;
    for (const generation of this.generations) tokens += generation?.deliveredTokens ?? 0;
    return tokens;
  }

  private settle(): void {
    this.isSettled = true;
    for (const [choice, usage] of this.ahead ?? []) this.spending.add(usage, this.deliveredBy(choice));
    const hasBegun = this.ticket !== undefined || this.slotTime.hasBegun;
    noteAttempts(this.exchange, hasBegun ? this.generations : []);
    if (hasBegun) noteUsage(this.exchange, { inputTokens: this.estimatedInputTokens, ...this.spent() });
    this.releaseTicket();
  }

  private spent(): Usage {
    const hasRun = this.generations.some((generation) => generation?.hasRun);
    return this.spending.total(this.deliveredTokens(), hasRun);
  }

  /** Settles the ticket once it is there: an answer can be complete before the reply of admission arrives. */
  private releaseTicket(): void {
    const { services, exchange, ticket } = this;
    if (!ticket) return;
    this.ticket = undefined;
    services.metrics.requestsInFlight.dec({ format: exchange.format });
    const usage = this.spent();
    const settled = ticket.settle({ usage, ...this.slotTime.times(services.monotonic()) });
    if (this.afterwards) void settled.then(this.afterwards);
  }
}
