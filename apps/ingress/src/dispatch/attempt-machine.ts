import {
  type ErrorInfo,
  type GenerationEvent,
  isContent,
  isTerminal,
  type TerminalEvent,
} from '@sluice/canonical';
import type { AttemptReason } from '@sluice/runtime';
import type { LostReason, Order } from '@sluice/transport';
import type { AttemptEffects, AttemptFacts } from './attempt-effects.ts';
import { DeliveredPart } from './delivered-part.ts';
import { Fence } from './fence.ts';
import { FrameOrder } from './frame-order.ts';
import { lostMidway, poisonous, readTooSlowly } from './lost-answer.ts';
import { costsNothing, lastRefusal, mayBeAskedAgain } from './refusal.ts';
import { Suspicion } from './suspicion.ts';

const attemptLimit = 8;
/** Frames are acknowledged in steps of this many, so that a worker keeps few of them during long answers. */
const acknowledgeStep = 64;

/**
 * One generation as its ingress sees it: which attempt counts, what has been delivered, and what to do when a worker, a
 * job or a frame is lost. Pure: its inputs are method calls, its outputs are `AttemptEffects`, and it has no clock and
 * no I/O, so that a simulation can play every order of events (see ../simulation).
 */
export class AttemptMachine {
  attempt = 1;
  /** The worker that holds the current attempt; absent while it waits in the queue. */
  worker: string | undefined;
  private isClosed = false;
  private isPaused = false;
  private hasPaused = false;
  /** Whether the next frame is one that was dropped in a pause, and so is asked for again without having been lost. */
  private isCatchingUp = false;
  /** The next sequence number of the worker by the last heartbeat during a pause; absent if there was none. */
  private pausedNext: number | undefined;
  /** Whether an attempt before the current one ran, as far as we know. */
  private hasRunBefore = false;
  private frames = new FrameOrder();
  private acknowledged = 0;
  private readonly suspicion = new Suspicion();
  /** Whether the current attempt has delivered anything. */
  private isFruitful = false;
  private readonly fence = new Fence();
  private delivered: DeliveredPart;
  private readonly effects: AttemptEffects;
  private readonly facts: AttemptFacts;

  constructor(effects: AttemptEffects, facts: AttemptFacts) {
    this.effects = effects;
    this.facts = facts;
    this.delivered = new DeliveredPart(facts.readerFormat);
  }

  get phase(): 'queued' | 'running' | 'closed' {
    if (this.isClosed) return 'closed';
    return this.worker === undefined ? 'queued' : 'running';
  }

  /** Output tokens delivered so far, as the engine counted them. */
  get deliveredTokens(): number {
    return this.delivered.outputTokens;
  }

  /** Whether it may have cost tokens: a worker took it and did not report that it had cost none. */
  get hasRun(): boolean {
    return this.hasRunBefore || this.worker !== undefined;
  }

  /** A worker has claimed an attempt. */
  claimed(worker: string, attempt: number): void {
    if (this.isOurs(worker, attempt)) this.worker = worker;
  }

  /** A frame of an attempt has arrived. Frames may come in any order and any number of times. */
  frame(worker: string, attempt: number, sequence: number, events: GenerationEvent[]): void {
    if (!this.isOurs(worker, attempt)) {
      this.effects.dropped('old-attempt');
      return;
    }
    this.worker = worker;
    if (this.isPaused) {
      this.effects.dropped('paused');
      const last = events[events.length - 1];
      if (last?.type === 'finish') this.effects.workerDone(last.usage);
      return;
    }
    const { expected, hasGap } = this.frames;
    if (sequence < expected) {
      this.effects.dropped('duplicate');
      return;
    }
    this.frames.put(sequence, events);
    if (sequence > expected) {
      if (!hasGap) this.askAgain();
      return;
    }
    this.isCatchingUp = false;
    for (let next = this.frames.take(); next; next = this.isClosed ? undefined : this.frames.take()) {
      this.accept(next);
    }
  }

  /** A heartbeat tells the next sequence number of an attempt: frames before it that we have not seen were lost. */
  running(worker: string, attempt: number, next: number): void {
    this.fence.heardToRun(worker, attempt);
    if (!this.isOurs(worker, attempt)) return;
    this.worker = worker;
    if (next <= this.frames.expected) return;
    if (!this.isPaused) this.askAgain();
    else {
      // No progress since the last heartbeat: the attempt has ended or waits. A worker keeps the frames of an ended
      // attempt for a while only, and an acknowledgement prolongs that.
      if (next === this.pausedNext) this.acknowledge();
      this.pausedNext = next;
    }
  }

  /**
   * The worker no longer keeps the frames from this sequence number on. Frames that have arrived since are not missed.
   */
  gone(worker: string, attempt: number, from: number): void {
    if (!this.isOurs(worker, attempt) || from < this.frames.expected) return;
    this.order(worker, 'cancel', 0);
    this.again('frames-gone');
  }

  /** A worker has died, has fallen silent, or hands over what it cannot finish. */
  workerLost(worker: string, reason: LostReason): void {
    if (this.isClosed || this.worker !== worker) return;
    if (reason === 'draining') {
      // The worker goes on until its drain limit. Only what another worker can continue unnoticed is taken away from
      // it.
      if (!this.canGoOn()) return;
      this.order(worker, 'cancel', 0);
      this.again('drained');
      return;
    }
    this.suspicion.add(reason, this.isFruitful, worker);
    if (reason === 'silent') this.order(worker, 'cancel', 0);
    this.again(reason);
  }

  /** A worker that was lost because it was silent lives. */
  heardAgain(worker: string): void {
    this.suspicion.heardAgain(worker);
  }

  /**
   * The attempt neither waits nor has anybody claimed it. `hasWorkerDied`: whether a worker of its pool was lost since
   * it was put into the queue, which may have taken it.
   */
  jobLost(hasWorkerDied: boolean): void {
    if (this.phase !== 'queued') return;
    if (hasWorkerDied) this.suspicion.add('unclaimed', this.isFruitful);
    this.again('unclaimed');
  }

  /** Asks for frames that may have been lost while our subscription was cut or nothing was heard. */
  askForMissed(): void {
    if (this.phase === 'running' && !this.isPaused) this.askAgain();
  }

  /** Pauses delivery to a client that reads too slowly: frames are dropped, and asked for again later. */
  pause(): void {
    this.isPaused = true;
    this.hasPaused = true;
    this.frames.clear();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.isCatchingUp = true;
    if (this.phase === 'running') this.askAgain();
  }

  /** Ends the generation with an error of the ingress, such as a passed deadline or a pool without workers. */
  fail(error: ErrorInfo): void {
    if (this.isClosed) return;
    this.release();
    this.finish({ type: 'error', error });
  }

  /** Stops the generation, because nobody wants the answer any more. Delivers nothing. */
  cancel(): void {
    if (this.isClosed) return;
    this.release();
    this.isClosed = true;
  }

  /** Whether this attempt, held by this worker, is the one that counts. Any other is fenced off and told to stop. */
  private isOurs(worker: string, attempt: number): boolean {
    if (!this.isClosed && attempt === this.attempt && (this.worker === undefined || this.worker === worker))
      return true;
    if (this.fence.mustTell(worker, attempt))
      this.effects.order(worker, { kind: 'cancel', attempt, sequence: 0 });
    return false;
  }

  private accept(events: GenerationEvent[]): void {
    const fresh = this.attempt > 1 ? this.delivered.withoutRepeats(events) : events;
    const last = fresh[fresh.length - 1];
    if (!last || !isTerminal(last)) {
      if (this.frames.expected - this.acknowledged >= acknowledgeStep) this.acknowledge();
      this.deliver(fresh);
      return;
    }
    this.acknowledge();
    if (last.type === 'error') {
      // The events before the error in its frame are delivered first: they, too, decide whether another attempt is
      // possible.
      this.deliver(fresh.slice(0, -1));
      // The delivery may have made the client's side cancel.
      if (this.isClosed) return;
      if (this.isWorthAnother(last.error)) this.again('failed', costsNothing(last));
      else this.finish(this.isRefusal(last.error) ? lastRefusal(last) : last);
      return;
    }
    this.isClosed = true;
    this.deliver(fresh);
  }

  private deliver(events: GenerationEvent[]): void {
    if (events.length === 0) return;
    this.isFruitful ||= events.some(isContent);
    this.delivered.add(events);
    this.effects.deliver(events);
  }

  /** Whether another attempt may succeed where this one failed. */
  private isWorthAnother(error: ErrorInfo): boolean {
    if (error.detail === 'drained') return this.canGoOn() || !this.facts.hasShown();
    return this.isRefusal(error) && mayBeAskedAgain(error, this.attempt);
  }

  /** Whether an engine has refused to begin. With nothing delivered, the refusal of a drain never ends the answer. */
  private isRefusal({ kind }: ErrorInfo): boolean {
    return kind === 'unavailable' && this.delivered.isEmpty;
  }

  /** Whether another worker can continue from what was delivered. */
  private canGoOn(): boolean {
    const ability = this.facts.resumeAbility();
    if (this.delivered.isEmpty || ability === 'exact') return true;
    return ability === 'prefix' && this.facts.isPlainText && this.delivered.isTextOnly;
  }

  /**
   * Starts another attempt, or ends the generation if none is possible. `wasFree`: the current one has cost nothing.
   */
  private again(reason: AttemptReason, wasFree = false): void {
    if (this.suspicion.isPoison) {
      this.finish({ type: 'error', error: poisonous });
      return;
    }
    const goesOn = this.canGoOn();
    if ((!goesOn && this.facts.hasShown()) || this.attempt >= attemptLimit) {
      const isReadersFault = reason === 'frames-gone' && this.hasPaused;
      this.finish({ type: 'error', error: isReadersFault ? readTooSlowly : lostMidway });
      return;
    }
    // The client has seen nothing of the answer yet, so the next attempt may begin it anew.
    if (!goesOn) this.delivered = new DeliveredPart(this.facts.readerFormat);
    this.attempt += 1;
    this.hasRunBefore ||= this.worker !== undefined && !wasFree;
    this.worker = undefined;
    this.frames = new FrameOrder();
    this.acknowledged = 0;
    this.isFruitful = false;
    this.effects.enqueue(this.attempt, this.delivered.resume(), reason);
  }

  private release(): void {
    if (this.worker === undefined) this.effects.withdraw(this.attempt);
    else this.order(this.worker, 'cancel', 0);
  }

  private finish(event: TerminalEvent): void {
    this.isClosed = true;
    this.deliver([event]);
  }

  private askAgain(): void {
    if (this.worker === undefined) return;
    this.order(this.worker, 'resend', this.frames.expected);
    this.effects.askedAgain(this.isCatchingUp ? 'paused' : 'missing');
  }

  private acknowledge(): void {
    this.acknowledged = this.frames.expected;
    if (this.worker !== undefined) this.order(this.worker, 'acknowledge', this.frames.expected);
  }

  private order(worker: string, kind: Order['kind'], sequence: number): void {
    this.effects.order(worker, { kind, attempt: this.attempt, sequence });
  }
}
