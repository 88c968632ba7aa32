import {
  type ErrorInfo,
  type GenerationEvent,
  type Resume,
  type ResumeAbility,
  SluiceError,
  type Usage,
} from '@sluice/canonical';
import type {
  AttemptReason,
  DroppedFrameReason,
  Due,
  IngressMetrics,
  ResendReason,
  Seat,
  TransientSet,
} from '@sluice/runtime';
import type { InferenceJob, JobQueue, Order, OrderSender } from '@sluice/transport';
import type { AttemptEffects, AttemptFacts } from './attempt-effects.ts';
import { AttemptMachine } from './attempt-machine.ts';
import { MissingJob } from './missing-job.ts';

/** The priority of later attempts: they go before all that wait, because their clients have waited already. */
const urgent = 1;
/** A worker that did not mention a running generation for two full heartbeats is asked for its missing frames. */
const unheardLimitMs = 11_000;
/**
 * The same for an attempt of which only the claim was heard. Redis tells us of it, and the job itself may never have
 * reached the worker, if its connection broke at that moment. Otherwise its next heartbeat mentions the attempt.
 */
const unconfirmedLimitMs = 2_000;

/** What the dispatcher needs to know of one generation. */
export interface GenerationPlan {
  /** Id of the generation, unique among all requests. */
  requestId: string;
  pool: string;
  /** The part of the job that is the same for every attempt. */
  job: Omit<InferenceJob, 'attempt' | 'enqueuedAt' | 'resume'>;
  isPlainText: boolean;
  /** The format of a client that sees events as they come; absent if it sees nothing before the end. */
  readerFormat: string | undefined;
  /** Whether the client has been shown anything of the answer, apart from its start. */
  hasShown(): boolean;
  /**
   * Puts the first attempt into its queue, if it is admitted. Rejects with `unavailable` if it is not known whether the
   * job is in the queue; any other error is a refusal, and then it is not. Later attempts need no admission. Absent
   * once it has been called, because it keeps all that admission needed.
   */
  enter: ((job: InferenceJob) => Promise<void>) | undefined;
  /**
   * Gets each event once and in order, the terminal one last. A second start begins the answer anew; see `hasShown`.
   */
  onEvents(events: GenerationEvent[]): void;
  /** The worker is done at this cost, although delivery is paused and not all events have arrived. May come again. */
  onWorkerDone(usage: Usage): void;
  /** A worker has claimed the generation for the first time, this long after the attempt was put into the queue. */
  onClaimed(queueWaitMs: number): void;
  /** It gets another attempt, for this reason. */
  onAnotherAttempt(reason: AttemptReason): void;
}

/** What a generation uses of its surroundings. */
export interface GenerationServices {
  queue: JobQueue;
  orders: Pick<OrderSender, 'send'>;
  metrics: Pick<IngressMetrics, 'attempts' | 'resends' | 'framesDropped'>;
  /** Epoch milliseconds. */
  now(): number;
  resumeAbility(pool: string): ResumeAbility;
  /** How many workers of this pool have been lost so far. */
  deathsOf(pool: string): number;
  /** An attempt was sent to its queue, where it waits until it is claimed. */
  onQueued(generation: OpenGeneration): void;
  /** The generation has ended or is not wanted any more. Called before its last events are delivered. */
  onClosed(generation: OpenGeneration): void;
  /** Default: the `AttemptMachine`. The simulation passes defective ones, to see whether it finds the defects. */
  createMachine?(effects: AttemptEffects, facts: AttemptFacts): AttemptMachine;
}

/** A handle on one dispatched generation. */
export interface Dispatched {
  /** Sends it through its queue. Throws the refusal of its plan's `enter`, after cleaning up. */
  begin(): Promise<void>;
  /** Stops it, because nobody wants the answer any more. Safe to call at any time, even after the end. */
  cancel(): void;
  /** Pauses delivery until `resume`. Frames that arrive meanwhile are dropped, and asked for again later. */
  pause(): void;
  resume(): void;
  /** Output tokens delivered so far, as the engine counted them. */
  readonly deliveredTokens: number;
  readonly attempts: number;
  /** The worker that runs it, or ran it last; absent while it waits. */
  readonly worker: string | undefined;
  /** Whether it may have cost tokens: a worker took it and did not report that it had cost none. */
  readonly hasRun: boolean;
}

/**
 * One generation of one request: connects its attempt machine with the queue and the control channel.
 *
 * It is the handle for its owner and both the effects and the facts for its machine. Separate objects with closures for
 * these three took 1.8 of the 16 KB of heap of an idle stream.
 */
export class OpenGeneration implements Dispatched, AttemptEffects, AttemptFacts, Due<OpenGeneration> {
  seat: Seat<OpenGeneration> | undefined;
  spoke: TransientSet<OpenGeneration> | undefined;
  readonly plan: GenerationPlan;
  readonly machine: AttemptMachine;
  /** When the current attempt was sent to the queue, epoch milliseconds; absent before the first. */
  enqueuedAt: number | undefined;
  /** Decides whether the current attempt is lost if it neither waits nor is claimed. */
  readonly missing = new MissingJob();
  /** Workers of the pool that had been lost when the current attempt was put into the queue. */
  private deathsBefore = 0;
  /** When its worker last mentioned the current attempt, epoch milliseconds; 0 before the first time. */
  heardAt = 0;
  /** When a claimed generation has to be looked at, epoch milliseconds; 0 means at the next tick. */
  dueAt = 0;
  /** Whether its worker has said more than that it claims the current attempt. */
  private isConfirmed = false;
  /** Sends the current attempt again, if Redis may not have taken it; the next tick calls it. */
  private unsent: (() => void) | undefined;
  private hasBeenClaimed = false;
  /** Whether the first attempt may be in the queue, so that it can be removed from there. */
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
      // If Redis did not answer, the job may be in the queue.
      this.entered(error instanceof SluiceError && error.kind === 'unavailable');
      this.cancel();
      throw error;
    }
  }

  cancel(): void {
    this.services.onClosed(this);
    this.machine.cancel();
  }

  pause(): void {
    this.machine.pause();
  }

  resume(): void {
    this.machine.resume();
  }

  /** Sends the current attempt again, if Redis may not have taken it. */
  retryUnsent(): void {
    const send = this.unsent;
    this.unsent = undefined;
    send?.();
  }

  claimed(worker: string, attempt: number, at: number): void {
    this.machine.claimed(worker, attempt);
    this.noteHeard(worker, attempt, at);
  }

  /** A frame or a heartbeat mentions an attempt. If it has overtaken the claim, it counts as the claim. */
  heard(worker: string, attempt: number, at: number): void {
    if (this.machine.worker === undefined) this.machine.claimed(worker, attempt);
    if (this.noteHeard(worker, attempt, at)) this.isConfirmed = true;
  }

  /** Asks the worker for what it has not mentioned for too long. If it does not have the attempt, it says so. */
  askIfUnheard(at: number): void {
    const dueAt = this.heardAt + (this.isConfirmed ? unheardLimitMs : unconfirmedLimitMs);
    if (at <= dueAt) {
      this.dueAt = Math.min(dueAt, this.plan.job.deadlineAt);
      return;
    }
    this.heardAt = at;
    this.machine.askForMissed();
  }

  /** The current attempt is lost: it neither waits nor has anybody claimed it. */
  jobLost(): void {
    this.machine.jobLost(this.services.deathsOf(this.plan.pool) > this.deathsBefore);
  }

  fail(error: ErrorInfo): void {
    this.machine.fail(error);
  }

  get isPlainText(): boolean {
    return this.plan.isPlainText;
  }

  get readerFormat(): string | undefined {
    return this.plan.readerFormat;
  }

  hasShown(): boolean {
    return this.plan.hasShown();
  }

  resumeAbility(): ResumeAbility {
    return this.services.resumeAbility(this.plan.pool);
  }

  enqueue(attempt: number, resume: Resume | undefined, reason: AttemptReason): void {
    this.services.metrics.attempts.inc({ reason });
    this.plan.onAnotherAttempt(reason);
    const send = (): void => {
      if (this.machine.attempt !== attempt) return;
      this.send(attempt, resume).catch(() => {
        if (this.machine.attempt === attempt) this.unsent = send;
      });
    };
    send();
  }

  withdraw(attempt: number): void {
    if (!this.hasEntered) return;
    const { requestId, pool } = this.plan;
    // If Redis is away the job stays, and is claimed at some time. The dispatcher then tells its worker to stop.
    this.services.queue.remove(pool, requestId, attempt).catch(() => undefined);
  }

  order(worker: string, order: Omit<Order, 'requestId'>): void {
    this.services.orders.send(worker, { ...order, requestId: this.plan.requestId });
  }

  deliver(events: GenerationEvent[]): void {
    if (this.machine.phase === 'closed') this.services.onClosed(this);
    this.plan.onEvents(events);
  }

  askedAgain(reason: ResendReason): void {
    this.services.metrics.resends.inc({ reason });
  }

  workerDone(usage: Usage): void {
    this.plan.onWorkerDone(usage);
  }

  dropped(reason: DroppedFrameReason): void {
    this.services.metrics.framesDropped.inc({ reason });
  }

  private entered(hasEntered: boolean): void {
    this.hasEntered = hasEntered;
    // The client left while `enter` was pending.
    if (this.machine.phase === 'closed' && !this.hasBeenClaimed) this.withdraw(1);
  }

  /** Returns whether this is about the attempt that counts. */
  private noteHeard(worker: string, attempt: number, at: number): boolean {
    if (this.machine.worker !== worker || this.machine.attempt !== attempt) return false;
    this.heardAt = at;
    if (this.hasBeenClaimed || this.enqueuedAt === undefined) return true;
    this.hasBeenClaimed = true;
    this.plan.onClaimed(Math.max(0, at - this.enqueuedAt));
    return true;
  }

  private send(attempt: number, resume: Resume | undefined): Promise<void> {
    const { job, pool } = this.plan;
    const enqueuedAt = this.services.now();
    this.missing.reset();
    this.deathsBefore = this.services.deathsOf(pool);
    this.enqueuedAt = enqueuedAt;
    this.isConfirmed = false;
    this.dueAt = 0;
    this.services.onQueued(this);
    const attemptJob: InferenceJob = { ...job, attempt, enqueuedAt, ...(resume && { resume }) };
    const { enter } = this.plan;
    this.plan.enter = undefined;
    return enter ? enter(attemptJob) : this.services.queue.enqueue(pool, attemptJob, urgent);
  }
}
