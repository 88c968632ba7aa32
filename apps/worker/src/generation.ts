import {
  type ErrorInfo,
  errorInfoOf,
  type GenerationEvent,
  isContent,
  isTerminal,
  type ModelLimits,
  nothingSpent,
  readTraceContext,
  type Usage,
} from '@sluice/canonical';
import type { Engine, FailureFacts, GenerationRun } from '@sluice/engines';
import type { Clock, Outcome, TraceSpan, Tracing } from '@sluice/runtime';
import { attemptId, type ClosedReason, type InferenceJob, type ReplyWriter } from '@sluice/transport';
import { closeAttemptSpan, openAttemptSpan } from './attempt-span.ts';

/** Why a generation is stopped from outside. */
export type StopReason = 'cancelled' | 'deadline' | 'drained' | ClosedReason;

/** What one generation is run with. */
export interface GenerationServices {
  engine: Engine;
  writer: ReplyWriter;
  /** Name of its pool. */
  pool: string;
  backendModel: string;
  /** The limits of the model. */
  limits: ModelLimits;
  clock: Clock;
  /** Absent if no collector of traces is set. */
  tracing?: Tracing | undefined;
}

/** How a generation ended, for metrics and logs. */
export interface GenerationOutcome {
  kind: Outcome;
  /** From the call of the engine to its first content; absent if there was none. */
  firstContentMs?: number;
  /** What the engine knows of its own failure; absent if it did not fail. */
  failure?: FailureFacts;
  /** What the engine threw, which its contract forbids; absent if it threw nothing. */
  cause?: unknown;
}

/** How a stop for each reason counts; with the error that the ingress is sent, unless it wants or has got none. */
const endings: Readonly<Record<StopReason, ErrorInfo | Outcome>> = {
  cancelled: 'cancelled',
  abandoned: 'cancelled',
  // Not `cancelled`: the error that the writer has sent instead is kept until it is acknowledged.
  unsendable: 'upstream-failed',
  deadline: { kind: 'deadline-exceeded', message: 'the deadline of the request has passed' },
  drained: { kind: 'unavailable', message: 'the worker is shutting down', detail: 'drained' },
};

/** One attempt in a worker: a run of the engine under one abort signal, with one terminal event at most. */
export class Generation {
  /** Resolves when the engine has returned. */
  readonly ended: Promise<void>;
  private readonly job: InferenceJob;
  private readonly services: GenerationServices;
  private readonly aborting = new AbortController();
  /** Whether the engine was called. */
  private hasAsked = false;
  private outcome: Outcome | undefined;
  private firstContentAt: number | undefined;
  /** What the engine has told of the tokens at its end. */
  private usage: Usage | undefined;
  private span: TraceSpan | undefined;
  private hasFailed = false;
  private facts: FailureFacts = {};
  private readonly release: () => void;

  constructor(job: InferenceJob, services: GenerationServices) {
    this.job = job;
    this.services = services;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.release = resolve;
  }

  /** Runs the attempt to its end. Never rejects. */
  async run(): Promise<GenerationOutcome> {
    const { job, services } = this;
    const { writer, clock } = services;
    const leftMs = job.deadlineAt - clock.now();
    const deadline = clock.after(leftMs, () => this.stop('deadline'));
    if (leftMs <= 0) this.stop('deadline');
    writer.whenClosed((reason) => this.stop(reason));
    // The claim must be announced before the engine runs. If the request takes this process down, its ingress then
    // knows which request it was, and counts the death against it.
    await writer.announced;
    const startedAt = clock.monotonic();
    const call = { pool: services.pool, backendModel: services.backendModel, startedAt };
    this.span = openAttemptSpan(job, call, services.tracing);
    let cause: unknown;
    try {
      if (this.outcome === undefined) {
        this.hasAsked = true;
        await services.engine.generate(job.request, this.order());
      }
      this.endIfOpen({ kind: 'internal', message: 'the engine stopped without an end' });
    } catch (thrown) {
      cause = thrown;
      this.endIfOpen(errorInfoOf(thrown));
    } finally {
      deadline.cancel();
      this.release();
    }
    const { outcome = 'cancelled', firstContentAt, usage } = this;
    if (this.span) {
      const end = { outcome, usage, firstContentAt, at: clock.monotonic() };
      closeAttemptSpan(this.span, job, call, end);
    }
    return {
      kind: outcome,
      ...(firstContentAt !== undefined && { firstContentMs: firstContentAt - startedAt }),
      ...(this.hasFailed && { failure: this.facts }),
      ...(cause !== undefined && { cause }),
    };
  }

  /** Aborts the engine, and sends the error that the reason calls for. Only the first call counts. */
  stop(reason: StopReason): void {
    if (this.outcome !== undefined) return;
    const ending = endings[reason];
    if (typeof ending === 'string') this.outcome = ending;
    else {
      const usage = !this.hasAsked && { usage: nothingSpent };
      this.services.writer.write({ type: 'error', error: ending, ...usage });
      this.outcome = ending.kind;
    }
    this.aborting.abort();
  }

  private order(): GenerationRun {
    const { job } = this;
    const trace = this.span?.context ?? readTraceContext(job);
    const { backendModel, limits } = this.services;
    const { contextTokens, maxOutputTokens } = limits;
    return {
      id: job.requestId,
      callId: attemptId(job),
      ...(trace && { trace }),
      tenant: job.tenant,
      backendModel,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(job.clientFormat !== undefined && { clientFormat: job.clientFormat }),
      signal: this.aborting.signal,
      ...(job.resume && { resume: job.resume }),
      emit: (event) => this.emit(event),
      onFailure: (facts) => {
        this.facts = facts;
      },
    };
  }

  private emit(event: GenerationEvent): void {
    if (this.outcome !== undefined) return;
    if (this.firstContentAt === undefined && isContent(event))
      this.firstContentAt = this.services.clock.monotonic();
    if (isTerminal(event)) {
      this.hasFailed = event.type === 'error';
      this.usage = event.usage;
      this.outcome = event.type === 'error' ? event.error.kind : 'ok';
    }
    this.services.writer.write(event);
  }

  private endIfOpen(error: ErrorInfo): void {
    this.emit({ type: 'error', error });
  }
}
