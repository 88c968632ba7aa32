import type { Bus } from '../bus.ts';
import { replyChannel } from '../names.ts';
import type { Attempts } from './attempts.ts';
import { encodeBatch, type Running } from './frame.ts';
import type { Outbox, Outboxes } from './outbox.ts';
import type { AttemptFrames } from './reply-writer.ts';

/** How long the frames of an ended attempt are kept for an ingress that says nothing about it. */
const keepLimitMs = 60_000;
/**
 * How long a channel must have had no receiver before its ingress is checked. An ingress renews its key within this
 * time, also in a Redis that restarted empty.
 */
const missLimitMs = 3_000;
/** How many ingresses that were given up are remembered. */
const mostGone = 1_000;
/** Redis is behind with our messages if it has not answered a position for so long. */
const behindAfterMs = 1_000;

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
  /** Ingresses that were given up, and have not been found alive since. */
  private readonly gone = new Set<string>();

  constructor(services: PositionServices, attempts: Attempts, outboxes: Outboxes) {
    this.services = services;
    this.attempts = attempts;
    this.outboxes = outboxes;
  }

  /**
   * Whether much is still on its way to Redis for this ingress. Positions go behind all that was published before, so what
   * lies before the first unanswered one may not have arrived.
   */
  isBehind({ unanswered }: Outbox): boolean {
    const [oldest] = unanswered;
    return oldest !== undefined && this.services.now() - oldest.sentAt > behindAfterMs;
  }

  /** As that of the publisher. */
  isGone(ingress: string): Promise<boolean> | undefined {
    return this.gone.has(ingress) ? this.isStillGone(ingress) : undefined;
  }

  /** Makes the next heartbeat tell the position of an attempt, even if it was told before. */
  retell(attempt: AttemptFrames): void {
    attempt.toldNext = -1;
    this.attempts.moved(attempt);
  }

  /** One heartbeat. The last of a round also forgets what has been kept for too long, and looks for dead ingresses. */
  beat(): void {
    const isLast = this.attempts.endsRound;
    if (isLast) this.forgetOld();
    const listed = this.attempts.beat();
    const told = this.tell(listed, isLast ? this.attempts.values() : []);
    if (!told || !isLast) return;
    for (const [ingress, answered] of told) void this.abandonIfTwiceDead(ingress, answered);
    // Every ingress for which anything is kept has been told. The others may be gone for good.
    for (const [ingress, { isScheduled }] of this.outboxes.entries()) {
      if (!isScheduled && !told.has(ingress)) this.outboxes.delete(ingress);
    }
  }

  /**
   * Publishes the positions of the listed attempts, and an empty list to an ingress that has only some of the `others`.
   * Returns for each ingress a promise of the number of receivers, or of `undefined` if Redis did not answer. Absent
   * while Redis is away: then none counts as told, and the next heartbeat lists them.
   */
  tell(listed: Iterable<AttemptFrames>, others: Iterable<AttemptFrames> = []): Told | undefined {
    if (!this.services.bus.canPublish()) {
      for (const attempt of listed) this.retell(attempt);
      return undefined;
    }
    const byIngress = new Map<string, Running[]>();
    const listOf = (ingress: string): Running[] => {
      const known = byIngress.get(ingress);
      if (known) return known;
      const list: Running[] = [];
      byIngress.set(ingress, list);
      return list;
    };
    for (const attempt of listed) {
      attempt.toldNext = attempt.next;
      listOf(attempt.ingress).push({ ...attempt.claim, next: attempt.next });
    }
    for (const { ingress } of others) listOf(ingress);
    return new Map(Array.from(byIngress, ([ingress, running]) => [ingress, this.publish(ingress, running)]));
  }

  private forgetOld(): void {
    const at = this.services.now();
    for (const { finishedAt, claim } of this.attempts.values()) {
      if (finishedAt !== undefined && at - finishedAt > keepLimitMs) this.attempts.delete(claim);
    }
  }

  /** Publishes positions, and sees whether their ingress listens. */
  private async publish(ingress: string, running: readonly Running[]): Promise<number | undefined> {
    const { bus, worker, now, onPublished } = this.services;
    const text = encodeBatch({ worker, running });
    onPublished?.({ frames: 0, bytes: Buffer.byteLength(text) });
    const outbox = this.outboxes.of(ingress);
    const position = { sentAt: now() };
    outbox.unanswered.add(position);
    const receivers = await bus.publish(replyChannel(ingress), text).catch(() => undefined);
    outbox.unanswered.delete(position);
    if (receivers === undefined) this.untell(ingress);
    else if (receivers === 0) this.missed(ingress, outbox);
    else outbox.missedAt = undefined;
    return receivers;
  }

  /** Positions count as not told, so the next heartbeat repeats them. */
  private untell(ingress: string): void {
    for (const attempt of this.attempts.values()) {
      if (attempt.ingress === ingress) this.retell(attempt);
    }
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

  private async isStillGone(ingress: string): Promise<boolean> {
    const isGone = await this.isDead(ingress);
    if (isGone) this.services.onAbandoned?.(1);
    else this.gone.delete(ingress);
    return isGone;
  }

  /** False if Redis cannot tell. */
  private isDead(ingress: string): Promise<boolean> {
    return this.services.isIngressAlive(ingress).then(
      (isAlive) => !isAlive,
      () => false,
    );
  }

  /** Gives up all attempts of an ingress. */
  abandon(ingress: string): void {
    this.outboxes.delete(ingress);
    this.gone.add(ingress);
    const [oldest] = this.gone;
    if (this.gone.size > mostGone && oldest !== undefined) this.gone.delete(oldest);
    let count = 0;
    for (const attempt of this.attempts.values()) {
      if (attempt.ingress !== ingress) continue;
      this.attempts.delete(attempt.claim);
      attempt.abandon();
      count += 1;
    }
    if (count > 0) this.services.onAbandoned?.(count);
  }
}
