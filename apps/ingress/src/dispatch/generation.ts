import {
  type ErrorInfo,
  type GenerationEvent,
  type Resume,
  type ResumeAbility,
  SluiceError,
} from '@sluice/canonical';
import type { AttemptReason, DroppedFrameReason, IngressMetrics } from '@sluice/runtime';
import type { InferenceJob, JobQueue, Order, OrderSender } from '@sluice/transport';
import type { AttemptEffects, AttemptFacts } from './attempt-effects.ts';
import { AttemptMachine } from './attempt-machine.ts';
import { MissingJob } from './missing-job.ts';

/** The priority of a later attempt: it goes before all that wait, since its client has waited already. */
const urgent = 1;

/** What the dispatcher needs to know of one generation. */
export interface GenerationPlan {
  /** Id of the generation, unique among all requests. */
  requestId: string;
  pool: string;
  /** Everything of the job that no attempt changes. */
  job: Omit<InferenceJob, 'attempt' | 'enqueuedAt' | 'resume'>;
  isPlainText: boolean;
  /** Whether the client sees events as they come. */
  isStream: boolean;
  /**
   * Asks for the first attempt to be let into its queue. Rejects with `unavailable` where nobody knows whether it
   * waits there; any other error is a refusal, and then it doesn't. Later attempts need no permission.
   */
  enter(job: InferenceJob): Promise<void>;
  /** Each event once and in order; the terminal one is last. Without a stream a second start begins the answer anew. */
  onEvents(events: GenerationEvent[]): void;
  /** Its worker is free, though not all events have been taken here. May come several times. */
  onWorkerDone(): void;
  /** The first attempt was picked up this long after it was put into the queue. */
  onClaimed(queueWaitMs: number): void;
}

export interface GenerationServices {
  queue: JobQueue;
  orders: OrderSender;
  metrics: Pick<IngressMetrics, 'attempts' | 'resends' | 'framesDropped'>;
  /** Epoch milliseconds. */
  now(): number;
  resumeAbility(pool: string): ResumeAbility;
  /** How many workers that took jobs of this pool were lost so far. */
  deathsOf(pool: string): number;
  /** The generation has ended or is not wanted any more; told before its last events are handed on. */
  onClosed(requestId: string): void;
  /** Default: the `AttemptMachine`. The simulation gives defective ones, to see whether it finds the defect. */
  createMachine?(effects: AttemptEffects, facts: AttemptFacts): AttemptMachine;
}

/** A handle on one dispatched generation. */
export interface Dispatched {
  /** Sends it through its queue. Throws what its plan's `enter` refuses it with; then nothing of it is left. */
  begin(): Promise<void>;
  /** Nobody wants the answer any more. Safe to call at any time, also after the end. */
  cancel(): void;
  /** Stops delivery until `resume`; what comes meanwhile is dropped and asked for again. */
  pause(): void;
  resume(): void;
  /** Output tokens delivered so far, as the engine counted them. */
  readonly deliveredTokens: number;
  readonly attempts: number;
  /** Who runs it, or ran it last; absent while it waits. */
  readonly worker: string | undefined;
  /** Whether it may have cost something: a worker took it and did not say that it had cost nothing. */
  readonly hasRun: boolean;
}

/**
 * One generation of one request: the attempt machine, bound to the queue and the control channel.
 *
 * It is all of them at once, a handle for its owner and effects and facts for its machine: objects of closures for
 * each were 1.8 of the 16 KB of heap of an idle stream.
 */
export class OpenGeneration implements Dispatched, AttemptEffects, AttemptFacts {
  readonly plan: GenerationPlan;
  readonly machine: AttemptMachine;
  /** When the current attempt was sent to the queue, epoch milliseconds; absent before the first. */
  enqueuedAt: number | undefined;
  /** Whether the current attempt is lost when it neither waits nor is claimed. */
  readonly missing = new MissingJob();
  /** Deaths in the pool when the current attempt was put into its queue. */
  private deathsBefore = 0;
  /** When the worker that holds the current attempt last spoke of it, epoch milliseconds; 0 before the first time. */
  heardAt = 0;
  /** An attempt that Redis did not take; the next tick tries again. */
  private unsent: (() => void) | undefined;
  private hasBeenClaimed = false;
  /** Whether the first attempt may have come to the queue, from where it can be taken. */
  private hasEntered = false;
  private readonly services: GenerationServices;

  constructor(plan: GenerationPlan, services: GenerationServices) {
    this.plan = plan;
    this.services = services;
    this.machine = services.createMachine?.(this, this) ?? new AttemptMachine(this, this);
  }

  get deliveredTokens(): number {
    return this.machine.deliveredTokens;
  }

  get attempts(): number {
    return this.machine.attempt;
  }

  get worker(): string | undefined {
    return this.machine.worker;
  }

  get hasRun(): boolean {
    return this.machine.hasRun;
  }

  async begin(): Promise<void> {
    try {
      await this.send(1, undefined);
      this.entered(true);
    } catch (error) {
      // Where Redis did not answer, nobody knows.
      this.entered(error instanceof SluiceError && error.kind === 'unavailable');
      this.cancel();
      throw error;
    }
  }

  cancel(): void {
    this.services.onClosed(this.plan.requestId);
    this.machine.cancel();
  }

  pause(): void {
    this.machine.pause();
  }

  resume(): void {
    this.machine.resume();
  }

  /** Whether the current attempt may not have come to the queue. */
  get isUnsent(): boolean {
    return this.unsent !== undefined;
  }

  /** Tries again what Redis did not take. */
  retryUnsent(): void {
    const send = this.unsent;
    this.unsent = undefined;
    send?.();
  }

  claimed(worker: string, attempt: number, at: number): void {
    this.machine.claimed(worker, attempt);
    this.noteHeard(worker, attempt, at);
  }

  /** A frame or a heartbeat speaks of an attempt. It may have overtaken the claim: then it is the claim. */
  heard(worker: string, attempt: number, at: number): void {
    if (this.machine.worker === undefined) this.claimed(worker, attempt, at);
    else this.noteHeard(worker, attempt, at);
  }

  /** The current attempt is neither waiting nor claimed by anybody. */
  jobLost(): void {
    this.machine.jobLost(this.services.deathsOf(this.plan.pool) > this.deathsBefore);
  }

  fail(error: ErrorInfo): void {
    this.machine.fail(error);
  }

  get isPlainText(): boolean {
    return this.plan.isPlainText;
  }

  get isStream(): boolean {
    return this.plan.isStream;
  }

  get passing(): string | undefined {
    return this.isStream ? this.plan.job.clientFormat : undefined;
  }

  resumeAbility(): ResumeAbility {
    return this.services.resumeAbility(this.plan.pool);
  }

  enqueue(attempt: number, resume: Resume | undefined, reason: AttemptReason): void {
    this.services.metrics.attempts.inc({ reason });
    const send = (): void => {
      if (this.machine.attempt !== attempt || this.machine.phase !== 'queued') return;
      this.send(attempt, resume).catch(() => {
        if (this.machine.attempt === attempt) this.unsent = send;
      });
    };
    send();
  }

  withdraw(attempt: number): void {
    if (!this.hasEntered) return;
    const { requestId, pool } = this.plan;
    // A job that stays because Redis is away is claimed some day and then told to stop: nobody knows it here.
    this.services.queue.remove(pool, requestId, attempt).catch(() => undefined);
  }

  order(worker: string, order: Omit<Order, 'requestId'>): void {
    if (order.kind === 'resend') this.services.metrics.resends.inc();
    this.services.orders.send(worker, { ...order, requestId: this.plan.requestId });
  }

  deliver(events: GenerationEvent[]): void {
    if (this.machine.phase === 'closed') this.services.onClosed(this.plan.requestId);
    this.plan.onEvents(events);
  }

  workerDone(): void {
    this.plan.onWorkerDone();
  }

  dropped(reason: DroppedFrameReason): void {
    this.services.metrics.framesDropped.inc({ reason });
  }

  private entered(hasEntered: boolean): void {
    this.hasEntered = hasEntered;
    // The client left while we asked.
    if (this.machine.phase === 'closed' && !this.hasBeenClaimed) this.withdraw(1);
  }

  private noteHeard(worker: string, attempt: number, at: number): void {
    if (this.machine.worker !== worker || this.machine.attempt !== attempt) return;
    this.heardAt = at;
    if (this.hasBeenClaimed || this.enqueuedAt === undefined) return;
    this.hasBeenClaimed = true;
    this.plan.onClaimed(Math.max(0, at - this.enqueuedAt));
  }

  private async send(attempt: number, resume: Resume | undefined): Promise<void> {
    const { job, pool } = this.plan;
    const enqueuedAt = this.services.now();
    this.missing.reset();
    this.deathsBefore = this.services.deathsOf(pool);
    this.enqueuedAt = enqueuedAt;
    const attemptJob: InferenceJob = { ...job, attempt, enqueuedAt, ...(resume && { resume }) };
    if (attempt === 1) await this.plan.enter(attemptJob);
    else await this.services.queue.enqueue(pool, attemptJob, urgent);
  }
}
