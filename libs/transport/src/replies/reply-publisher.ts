import { afterTurn as afterOwnTurn } from '@sluice/runtime';
import { attemptId, replyChannel } from '../names.ts';
import { Attempts } from './attempts.ts';
import { BatchPacker } from './batch-packer.ts';
import type { Attempt, Gone } from './frame.ts';
import { type Outbox, Outboxes } from './outbox.ts';
import { type PositionServices, Positions } from './positions.ts';
import { AttemptFrames, type ReplyWriter } from './reply-writer.ts';

const beatIntervalMs = 500;
/** How long a flush waits: a Redis that has gone away must not hold up the end of the process. */
const flushLimitMs = 500;
/**
 * Characters resent after one turn, per attempt and per ingress. The ingress asks for the rest, so that the buffer that
 * Redis keeps for it never overflows.
 */
const resendLimit = 256 * 1024;
const resendLimitOfAll = 2 * 1024 * 1024;

/**
 * The worker's end of the reply path: publishes frames in batches, keeps them until acknowledged, resends on demand.
 */
export interface ReplyPublisher {
  /** Starts the heartbeats. */
  start(): void;
  /**
   * Opens the frames of an attempt, and announces its claim to its ingress unless that `isAnnounced` (default: it is
   * not). Absent if the attempt is already open or kept here: the queue gave it out twice, and a second run would give
   * the same numbers to other frames.
   */
  open(attempt: Attempt & { replyTo: string }, isAnnounced?: boolean): ReplyWriter | undefined;
  /** Whether the attempt runs or its frames are kept here. */
  has(attempt: Attempt): boolean;
  /**
   * Whether an ingress, which was given up before, still shows no sign of life: a job of it is in vain, and counts as
   * given up. Returns no promise for any other ingress. Not true if Redis cannot tell.
   */
  isGone(ingress: string): Promise<boolean> | undefined;
  /**
   * Publishes kept frames again, with the position of the attempt, or tells `ingress` that they are gone. While Redis is
   * behind with our messages, the next heartbeat tells the position, and the ingress asks again.
   */
  resend(attempt: Attempt, from: number, ingress: string): void;
  /** Drops the frames below `sequence`, which have arrived. */
  acknowledge(attempt: Attempt, sequence: number): void;
  /**
   * Tells an ingress at once the position of each of its attempts. Call it when either end has just subscribed, because
   * earlier messages are lost. Absent means every ingress.
   */
  tell(ingress?: string): void;
  /** Forgets an attempt that nobody wants, with its frames. */
  forget(attempt: Attempt): void;
  /** Gives up all attempts of an ingress that has said farewell. */
  abandon(ingress: string): void;
  /** Characters of frames kept for all attempts. */
  readonly keptCharacters: number;
  /** Publishes what is pending at once. Resolves when Redis has taken it, or after 500 ms. */
  flush(): Promise<void>;
  /** Resolves when no frames are kept any more, so that all ingresses have got theirs or are gone, or when `limit` aborts. */
  delivered(limit: AbortSignal): Promise<void>;
  /** Publishes what is pending and stops the heartbeats. */
  close(): Promise<void>;
}

/** What a publisher sends by, and what it calls. */
export interface PublisherOptions extends PositionServices {
  /**
   * Characters of frames that may be kept for all attempts together. It is seen to at each heartbeat. What is dropped then
   * counts as gone. Default: any number.
   */
  keptLimit?: number;
  /** Called when frames of so many attempts were dropped for that. Default: nothing is. */
  onKeptDropped?(attempts: number): void;
  /** Runs a callback after this turn of the event loop. Default: of the process's own. */
  afterTurn?(callback: () => void): void;
  /** Runs a callback again and again until the returned function is called. Default: `setInterval`. */
  every?(intervalMs: number, callback: () => void): () => void;
}

/** Creates the publisher of one worker process. */
export function createReplyPublisher(options: PublisherOptions): ReplyPublisher {
  return new BatchingPublisher(options);
}

class BatchingPublisher implements ReplyPublisher {
  private readonly options: PublisherOptions;
  private readonly afterTurn: (callback: () => void) => void;
  private readonly attempts = new Attempts();
  private readonly outboxes = new Outboxes();
  /** Those in which something has gathered in this turn. */
  private gathered: Outbox[] = [];
  private readonly positions: Positions;
  private stopBeating: (() => void) | undefined;
  /** Called once no frames are kept; absent while nobody waits for that. */
  private whenDelivered: (() => void) | undefined;

  constructor(options: PublisherOptions) {
    this.options = options;
    this.afterTurn = options.afterTurn ?? afterOwnTurn;
    this.positions = new Positions(options, this.attempts, this.outboxes);
  }

  get keptCharacters(): number {
    return this.attempts.keptCharacters;
  }

  start(): void {
    const { every = everyInterval } = this.options;
    this.stopBeating ??= every(beatIntervalMs, () => this.beat());
  }

  open(
    { requestId, attempt, replyTo }: Attempt & { replyTo: string },
    isAnnounced = false,
  ): ReplyWriter | undefined {
    const claim: Attempt = { requestId, attempt };
    if (this.attempts.has(claim)) return undefined;
    const outbox = this.outboxes.of(replyTo);
    const frames = new AttemptFrames(claim, replyTo, (dirty) => {
      outbox.dirty.push(dirty);
      this.schedule(outbox);
    });
    this.attempts.add(frames);
    if (isAnnounced) frames.announce();
    else {
      outbox.opened.push(frames);
      this.schedule(outbox);
    }
    return frames;
  }

  has(attempt: Attempt): boolean {
    return this.attempts.has(attempt);
  }

  isGone(ingress: string): Promise<boolean> | undefined {
    return this.positions.isGone(ingress);
  }

  resend({ requestId, attempt }: Attempt, from: number, ingress: string): void {
    const outbox = this.outboxes.of(ingress);
    outbox.asked.set(attemptId({ requestId, attempt }), { requestId, attempt, from });
    this.schedule(outbox);
  }

  acknowledge(attempt: Attempt, sequence: number): void {
    const frames = this.attempts.get(attempt);
    if (!frames) return;
    if (frames.finishedAt !== undefined) frames.finishedAt = this.options.now();
    if (frames.acknowledge(sequence)) this.attempts.delete(attempt);
    this.noteDelivered();
  }

  tell(ingress?: string): void {
    const all = [...this.attempts.values()];
    this.positions.tell(all.filter((attempt) => ingress === undefined || attempt.ingress === ingress));
  }

  forget(attempt: Attempt): void {
    this.attempts.delete(attempt);
    this.noteDelivered();
  }

  abandon(ingress: string): void {
    this.positions.abandon(ingress);
    this.noteDelivered();
  }

  async flush(): Promise<void> {
    for (const [, outbox] of this.outboxes.entries()) this.empty(outbox);
    // Redis answers positions, and takes them only after what was posted before.
    const answered = this.positions.tell(this.attempts.values())?.values() ?? [];
    const limit = new Promise((resolve) => setTimeout(resolve, flushLimitMs).unref());
    await Promise.race([Promise.all(answered), limit]);
  }

  delivered(limit: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (limit.aborted) return resolve();
      limit.addEventListener('abort', () => resolve(), { once: true });
      this.whenDelivered = resolve;
      this.noteDelivered();
    });
  }

  async close(): Promise<void> {
    this.stopBeating?.();
    this.stopBeating = undefined;
    await this.flush();
  }

  private beat(): void {
    const { keptLimit = Number.POSITIVE_INFINITY, onKeptDropped } = this.options;
    const dropped = this.attempts.keepAtMost(keptLimit);
    if (dropped > 0) onKeptDropped?.(dropped);
    this.positions.beat();
    // What is not acknowledged may have been dropped, or its ingress given up.
    this.noteDelivered();
  }

  private noteDelivered(): void {
    if (this.whenDelivered && !this.attempts.keepFrames) this.whenDelivered();
  }

  /** Once for all ingresses, so that what goes to several takes one system call, and wakes Redis once. */
  private schedule(outbox: Outbox): void {
    if (outbox.isScheduled) return;
    outbox.isScheduled = true;
    this.gathered.push(outbox);
    if (this.gathered.length > 1) return;
    this.afterTurn(() => {
      const { gathered } = this;
      this.gathered = [];
      for (const each of gathered) this.empty(each);
    });
  }

  /** Publishes all that has gathered for an ingress. */
  private empty(outbox: Outbox): void {
    const { opened, dirty, asked } = outbox.takeAll();
    const claims = opened.map(({ claim }) => claim);
    const packer = new BatchPacker(this.options.worker, claims, (text, frames) => {
      this.post(outbox.ingress, text, frames);
    });
    const { found, gone } = this.repeat(outbox, asked, packer);
    for (const attempt of dirty) {
      for (let text = attempt.takeFrame(); text !== undefined; text = attempt.takeFrame()) packer.add(text);
      if (attempt.isEnded) attempt.finishedAt = this.options.now();
      this.attempts.moved(attempt);
    }
    const running = found.map(({ claim, next }) => ({ ...claim, next }));
    packer.finish(running, gone);
    for (const attempt of opened) attempt.announce();
  }

  /**
   * Adds the frames that were asked for, unless Redis is behind, and returns their attempts, and the questions about
   * frames no longer kept.
   */
  private repeat(
    outbox: Outbox,
    asked: ReadonlyMap<string, Gone>,
    packer: BatchPacker,
  ): { found: AttemptFrames[]; gone: Gone[] } {
    const found: AttemptFrames[] = [];
    const gone: Gone[] = [];
    let room = resendLimitOfAll;
    for (const question of asked.values()) {
      const attempt = this.attempts.get(question);
      if (attempt?.finishedAt !== undefined) attempt.finishedAt = this.options.now();
      // What is asked for is probably among what is on its way. The next heartbeat goes behind that, and the ingress asks
      // again for what it misses by then.
      if (attempt && this.positions.isBehind(outbox)) {
        this.positions.retell(attempt);
        continue;
      }
      const texts = attempt?.framesFrom(question.from, Math.min(resendLimit, room));
      if (!attempt || !texts) {
        gone.push(question);
        continue;
      }
      found.push(attempt);
      for (const text of room > 0 ? texts : []) {
        room -= text.length;
        packer.add(text);
      }
    }
    return { found, gone };
  }

  private post(ingress: string, text: string, frames: number): void {
    const { bus, onPublished } = this.options;
    // While Redis is away nothing is sent: the frames are kept, and the next heartbeat makes the ingress ask for them.
    if (!bus.canPublish()) return;
    const bytes = bus.post(replyChannel(ingress), text);
    if (bytes > 0) onPublished?.({ frames, bytes });
  }
}

function everyInterval(intervalMs: number, callback: () => void): () => void {
  const timer = setInterval(callback, intervalMs);
  return () => clearInterval(timer);
}
