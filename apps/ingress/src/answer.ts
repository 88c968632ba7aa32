import type { Ticket } from '@sluice/admission';
import {
  estimateInputTokens,
  type GenerationEvent,
  type InferenceRequest,
  isTerminal,
  type Usage,
} from '@sluice/canonical';
import type { Model, Pool } from '@sluice/catalog';
import type { ClientCall } from '@sluice/formats';
import type { Caller } from '@sluice/tenancy';
import type { Dispatched } from './dispatcher.ts';
import { addUsage, type Exchange, noteEvents } from './exchange.ts';
import type { Services } from './services.ts';

export interface AnswerPlan {
  request: InferenceRequest;
  call: ClientCall;
  caller: Caller;
  model: Model;
  pool: Pool;
  traceparent?: string;
}

/**
 * All generations of one request under one ticket, from admission to settlement. However it ends (finished,
 * failed, client gone), it settles exactly once and leaves nothing running. What `onEvents` throws (a defect of
 * a codec) ends this request alone and goes to `onDefect`.
 */
export class Answer {
  private readonly plan: AnswerPlan;
  private readonly exchange: Exchange;
  private readonly services: Services;
  private readonly onEvents: (choice: number, events: GenerationEvent[]) => void;
  private readonly onDefect: (error: unknown) => void;
  private readonly generations: (Dispatched | undefined)[];
  private ticket: Ticket | undefined;
  private usage: Usage | undefined;
  private claimedAt: number | undefined;
  private open: number;
  private isSettled = false;

  constructor(
    plan: AnswerPlan,
    exchange: Exchange,
    services: Services,
    onEvents: (choice: number, events: GenerationEvent[]) => void,
    onDefect: (error: unknown) => void,
  ) {
    this.plan = plan;
    this.exchange = exchange;
    this.services = services;
    this.onEvents = onEvents;
    this.onDefect = onDefect;
    this.open = plan.call.choices;
    this.generations = Array.from({ length: plan.call.choices });
  }

  /** Admits the request and puts its generations into the queue. Throws the refusal, or `unavailable`. */
  async begin(): Promise<void> {
    const { plan, exchange, services } = this;
    const { model, pool, request, call, caller } = plan;
    const maxOutputTokens = request.sampling.maxOutputTokens ?? model.maxOutputTokens;
    this.ticket = await services.admission.admit({
      requestId: exchange.requestId,
      tenant: caller.tenant,
      keyId: caller.keyId,
      model: model.id,
      pool: pool.name,
      jobs: call.choices,
      estimatedInputTokens: estimateInputTokens(request),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      limits: caller.limits,
      poolPolicy: {
        slots: services.directory.slotsOf(pool.name),
        waitBudgetMs: pool.waitBudgetMs,
        ...(pool.maxWaiting !== undefined && { maxWaiting: pool.maxWaiting }),
      },
    });
    services.metrics.requestsInFlight.inc({ format: exchange.format });
    if (this.isSettled) {
      // The client left while we asked.
      this.releaseTicket();
      return;
    }
    try {
      await Promise.all(Array.from({ length: call.choices }, (_, choice) => this.dispatch(choice)));
    } catch (error) {
      this.cancel();
      throw error;
    }
  }

  /** Stops everything and settles by what was delivered. Harmless after the end. */
  cancel(): void {
    if (this.isSettled) return;
    for (const generation of this.generations) generation?.cancel();
    this.settle();
  }

  pause(): void {
    for (const generation of this.generations) generation?.pause();
  }

  resume(): void {
    for (const generation of this.generations) generation?.resume();
  }

  private async dispatch(choice: number): Promise<void> {
    const { plan, exchange, services } = this;
    const { model, request, caller } = plan;
    const requestId = choice === 0 ? exchange.requestId : `${exchange.requestId}c${choice}`;
    const generation = await services.dispatcher.dispatch({
      requestId,
      pool: model.pool,
      priority: this.ticket?.priority ?? 1,
      isPlainText: request.tools === undefined && request.output?.type !== 'json',
      job: {
        version: 1,
        requestId,
        replyTo: services.ingress,
        tenant: caller.tenant,
        model: model.id,
        deadlineAt: services.now() + (model.requestTimeoutMs ?? services.requestTimeoutMs),
        request: withChoiceSeed(request, choice),
        ...(plan.traceparent !== undefined && { traceparent: plan.traceparent }),
      },
      onEvents: (events) => this.receive(choice, events),
      onClaimed: (queueWaitMs) => this.claimed(queueWaitMs),
    });
    this.generations[choice] = generation;
    if (this.isSettled) generation.cancel();
  }

  private claimed(queueWaitMs: number): void {
    this.claimedAt ??= this.services.monotonic();
    this.exchange.queueWaitMs ??= queueWaitMs;
    this.services.metrics.queueWait.observe({ pool: this.plan.pool.name }, queueWaitMs);
  }

  private receive(choice: number, events: GenerationEvent[]): void {
    if (this.isSettled) return;
    const last = events[events.length - 1];
    if (last && isTerminal(last)) {
      this.open -= 1;
      const usage = last.usage ?? (last.type === 'error' ? undefined : {});
      if (usage) this.usage = addUsage(this.usage, usage);
    }
    try {
      this.onEvents(choice, events);
    } catch (error) {
      this.cancel();
      this.onDefect(error);
      return;
    }
    noteEvents(this.exchange, events, this.services);
    this.ticket?.sawOutput(this.deliveredTokens());
    // One answer that failed fails them all: the client sees one error.
    if (last?.type === 'error') this.cancel();
    else if (this.open === 0) this.settle();
  }

  private deliveredTokens(): number {
    let tokens = 0;
    for (const generation of this.generations) tokens += generation?.deliveredTokens ?? 0;
    return tokens;
  }

  private settle(): void {
    this.isSettled = true;
    this.exchange.attempts = Math.max(0, ...this.generations.map((generation) => generation?.attempts ?? 0));
    if (this.ticket) this.releaseTicket();
  }

  private releaseTicket(): void {
    const { services, exchange, claimedAt } = this;
    services.metrics.requestsInFlight.dec({ format: exchange.format });
    const delivered = this.deliveredTokens();
    // Nothing ran: nothing is charged. Something ran without a report: the ticket's own rule fills the gaps.
    const usage =
      this.usage ??
      (claimedAt === undefined ? { inputTokens: 0, outputTokens: 0 } : { outputTokens: delivered });
    exchange.usage ??= usage;
    const isWhole = this.open === 0 && claimedAt !== undefined;
    void this.ticket?.settle({
      usage,
      ...(isWhole && { durationMs: services.monotonic() - claimedAt }),
    });
  }
}

/** Several answers to one prompt must differ: a given seed is moved on for each. */
function withChoiceSeed(request: InferenceRequest, choice: number): InferenceRequest {
  const { seed } = request.sampling;
  if (choice === 0 || seed === undefined) return request;
  return { ...request, sampling: { ...request.sampling, seed: seed + choice } };
}
