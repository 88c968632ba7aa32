import type { TransientMap } from '@sluice/runtime';
import type { Bus } from '../bus.ts';
import { replyChannel } from '../names.ts';
import { encodeBatch, type Running } from './frame.ts';
import type { Outbox, Outboxes } from './outbox.ts';
import type { AttemptFrames } from './reply-writer.ts';

/**
 * A heartbeat lists the attempts that have moved, and each attempt once in so many heartbeats, so that what was lost is
 * repaired by then. Attempts that began in different heartbeats are listed in different ones, so that no message lists
 * thousands.
 */
const roundBeats = 10;
/** How long the frames of an ended attempt are kept for an ingress that says nothing about it. */
const keepLimitMs = 60_000;
/**
 * How long a channel must have had no receiver before its ingress is checked. An ingress renews its key within this
 * time, also in a Redis that restarted empty.
 */
const missLimitMs = 3_000;

/** What the positions of attempts are told with. */
export interface PositionServices {
  bus: Bus;
  worker: string;
  /** Monotonic milliseconds. */
  now(): number;
  /** Whether the ingress process lives. Rejects if Redis cannot tell. */
  isIngressAlive(ingress: string): Promise<boolean>;
  onPublished?(batch: { frames: number; bytes: number }): void;
  onAbandoned?(attempts: number): void;
}

/** The attempts of a worker that run or whose frames are kept, by their ids. */
export type Attempts = TransientMap<string, AttemptFrames>;

/** By the ingress: how many receivers its positions had, or `undefined` if Redis did not answer. */
type Told = ReadonlyMap<string, Promise<number | undefined>>;

/**
 * Tells ingresses the positions of their attempts, by which they notice what they have missed, and abandons the attempts
 * of an ingress that is gone.
 */
export class Positions {
  private readonly services: PositionServices;
  private readonly attempts: Attempts;
  private readonly outboxes: Outboxes;
  private beats = 0;

  constructor(services: PositionServices, attempts: Attempts, outboxes: Outboxes) {
    this.services = services;
    this.attempts = attempts;
    this.outboxes = outboxes;
  }

  /** One heartbeat. The last of a round also forgets what has been kept for too long, and looks for dead ingresses. */
  beat(): void {
    this.beats += 1;
    const isLast = this.beats % roundBeats === 0;
    if (isLast) this.forgetOld();
    const told = this.tell((attempt) => this.isDue(attempt), isLast);
    if (!isLast || !told) return;
    for (const [ingress, answered] of told) void this.abandonIfTwiceDead(ingress, answered);
    // Every ingress for which anything is kept has been told. The others may be gone for good.
    for (const [ingress, { isScheduled }] of this.outboxes.entries()) {
      if (!isScheduled && !told.has(ingress)) this.outboxes.delete(ingress);
    }
  }

  /**
   * Publishes the positions of the attempts that `isWanted` selects; with `reachesAll` also an empty list to an ingress
   * none of whose attempts it selects. Returns for each ingress a promise of the number of receivers, or of `undefined`
   * if Redis did not answer. Absent while Redis is away: then none counts as told.
   */
  tell(isWanted: (attempt: AttemptFrames) => boolean, reachesAll = false): Told | undefined {
    if (!this.services.bus.canPublish()) return undefined;
    const byIngress = new Map<string, Running[]>();
    for (const attempt of this.attempts.values()) {
      const wants = isWanted(attempt);
      if (!wants && !reachesAll) continue;
      let running = byIngress.get(attempt.ingress);
      if (!running) {
        running = [];
        byIngress.set(attempt.ingress, running);
      }
      if (!wants) continue;
      attempt.toldNext = attempt.next;
      running.push({ ...attempt.claim, next: attempt.next });
    }
    return new Map(Array.from(byIngress, ([ingress, running]) => [ingress, this.publish(ingress, running)]));
  }

  private isDue(attempt: AttemptFrames): boolean {
    attempt.firstBeat ??= this.beats;
    return attempt.toldNext !== attempt.next || (this.beats - attempt.firstBeat) % roundBeats === 0;
  }

  private forgetOld(): void {
    const at = this.services.now();
    for (const [key, { finishedAt }] of this.attempts) {
      if (finishedAt !== undefined && at - finishedAt > keepLimitMs) this.attempts.delete(key);
    }
  }

  /** Publishes positions, and sees whether their ingress listens. */
  private async publish(ingress: string, running: readonly Running[]): Promise<number | undefined> {
    const { bus, worker, onPublished } = this.services;
    const text = encodeBatch({ worker, running });
    onPublished?.({ frames: 0, bytes: text.length });
    const outbox = this.outboxes.of(ingress);
    const receivers = await bus.publish(replyChannel(ingress), text).catch(() => undefined);
    if (receivers === undefined) this.untell(ingress);
    else if (receivers === 0) this.missed(ingress, outbox);
    else outbox.missedAt = undefined;
    return receivers;
  }

  /** Positions count as not told, so the next heartbeat repeats them. */
  private untell(ingress: string): void {
    for (const attempt of this.attempts.values()) if (attempt.ingress === ingress) attempt.toldNext = -1;
  }

  /** A message had no receiver: heartbeats repeat the positions until the ingress listens. */
  private missed(ingress: string, outbox: Outbox): void {
    this.untell(ingress);
    const at = this.services.now();
    if (outbox.missedAt === undefined) outbox.missedAt = at;
    else if (at - outbox.missedAt >= missLimitMs) void this.abandonIfDead(ingress, outbox);
  }

  private async abandonIfDead(ingress: string, outbox: Outbox): Promise<void> {
    outbox.missedAt = undefined;
    if (await this.isDead(ingress)) this.abandon(ingress);
  }

  /**
   * Gives up an ingress that has a receiver but showed no sign of life at the ends of two rounds in a row. The subscription
   * of a host that has vanished stands for minutes, and somebody else may listen to its channel.
   */
  private async abandonIfTwiceDead(ingress: string, answered: Promise<number | undefined>): Promise<void> {
    // While Redis answers nothing, the ingress cannot renew its sign either.
    const isDead = Boolean(await answered) && (await this.isDead(ingress));
    const outbox = this.outboxes.of(ingress);
    if (isDead && outbox.isDoubtful) this.abandon(ingress);
    else outbox.isDoubtful = isDead;
  }

  /** False if Redis cannot tell. */
  private isDead(ingress: string): Promise<boolean> {
    return this.services.isIngressAlive(ingress).then(
      (isAlive) => !isAlive,
      () => false,
    );
  }

  private abandon(ingress: string): void {
    this.outboxes.delete(ingress);
    let count = 0;
    for (const [key, attempt] of this.attempts) {
      if (attempt.ingress !== ingress) continue;
      this.attempts.delete(key);
      attempt.abandon();
      count += 1;
    }
    this.services.onAbandoned?.(count);
  }
}
