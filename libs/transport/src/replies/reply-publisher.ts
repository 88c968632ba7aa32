import { TransientMap } from '@sluice/runtime';
import type { Bus } from '../bus.ts';
import { attemptId, replyChannel } from '../names.ts';
import { type Attempt, encodeBatch, type Gone, type Running } from './frame.ts';
import { type AtLull, atLull as atOwnLull } from './lull.ts';
import { createOutbox, isAwaited, type Outbox } from './outbox.ts';
import { AttemptFrames, type ReplyWriter } from './reply-writer.ts';

const beatIntervalMs = 500;
/**
 * Every tenth heartbeat lists all attempts, the others only those that moved. So a lost one is repaired by the tenth.
 */
const fullBeatEvery = 10;
/** How long the frames of an ended attempt are kept for an ingress that says nothing about it. */
const keepLimitMs = 60_000;
/**
 * How long a channel must have had no receiver before its ingress is checked. An ingress renews its key within this
 * time, also in a Redis that restarted empty.
 */
const missLimitMs = 3_000;
/** How long a flush waits: a Redis that has gone away must not hold up the end of the process. */
const flushLimitMs = 500;
const batchLimitBytes = 256 * 1024;
/**
 * Bytes resent at one lull, per attempt and per ingress. The ingress asks for the rest, so that the buffer that Redis
 * keeps for it never overflows.
 */
const resendLimitBytes = 256 * 1024;
const resendLimitOfAllBytes = 2 * 1024 * 1024;

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
  /** Publishes kept frames again, with the position of the attempt, or tells `ingress` that they are gone. */
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
  /** Bytes of frames kept for all attempts. */
  readonly keptBytes: number;
  /** Publishes what is pending at once. Resolves when Redis has taken it, or after 500 ms. */
  flush(): Promise<void>;
  /** Publishes what is pending and stops the heartbeats. */
  close(): Promise<void>;
}

/** What a publisher sends by, and what it calls. */
export interface PublisherOptions {
  bus: Bus;
  worker: string;
  /** Monotonic milliseconds. */
  now(): number;
  /** Whether the ingress process lives; asked when its channel has had no receiver for a while. */
  isIngressAlive(ingress: string): Promise<boolean>;
  onPublished?(batch: { frames: number; bytes: number }): void;
  onAbandoned?(attempts: number): void;
  /** When what has gathered is published. Default: at a lull of the process's event loop. */
  atLull?: AtLull;
  /** Runs a callback again and again until the returned function is called. Default: `setInterval`. */
  every?(intervalMs: number, callback: () => void): () => void;
}

/** Creates the publisher of one worker process. */
export function createReplyPublisher(options: PublisherOptions): ReplyPublisher {
  const { bus, worker, now, atLull = atOwnLull, every = everyInterval } = options;
  const attempts = new TransientMap<string, AttemptFrames>();
  const outboxes = new Map<string, Outbox>();
  let beats = 0;
  let stopBeating: (() => void) | undefined;

  const outboxOf = (ingress: string): Outbox => {
    let outbox = outboxes.get(ingress);
    if (!outbox) {
      outbox = createOutbox();
      outboxes.set(ingress, outbox);
    }
    return outbox;
  };

  const schedule = (ingress: string, outbox: Outbox): void => {
    if (outbox.isScheduled) return;
    outbox.isScheduled = true;
    atLull({
      size: () => outbox.dirty.length,
      isUrgent: () => isAwaited(outbox),
      send: () => empty(ingress, outbox),
    });
  };

  const empty = (ingress: string, outbox: Outbox): void => {
    const { opened, dirty, asked } = outbox;
    let claims = opened.map(({ claim }) => claim);
    [outbox.opened, outbox.dirty, outbox.asked, outbox.isScheduled] = [[], [], new Map(), false];
    let frames: string[] = [];
    let bytes = 0;
    const add = (text: string): void => {
      if (frames.length > 0 && bytes + text.length > batchLimitBytes) {
        post(ingress, encodeBatch({ worker, claims, frames }), frames.length);
        [claims, frames, bytes] = [[], [], 0];
      }
      frames.push(text);
      bytes += text.length;
    };
    const { found, gone } = repeat(asked, add);
    for (const attempt of dirty) {
      for (let text = attempt.takeFrame(); text !== undefined; text = attempt.takeFrame()) add(text);
      if (attempt.isEnded) attempt.finishedAt = now();
    }
    if (claims.length + frames.length + found.length + gone.length > 0) {
      // The positions go last: an ingress that got fewer frames than its position says asks for the rest at once.
      const running = found.map(({ claim, next }) => ({ ...claim, next }));
      post(ingress, encodeBatch({ worker, claims, frames, running, gone }), frames.length);
    }
    for (const attempt of opened) attempt.announce();
  };

  /** Adds the frames that were asked for, and returns their attempts, and the questions about frames no longer kept. */
  const repeat = (asked: ReadonlyMap<string, Gone>, add: (text: string) => void) => {
    const found: AttemptFrames[] = [];
    const gone: Gone[] = [];
    let room = resendLimitOfAllBytes;
    for (const [key, question] of asked) {
      const attempt = attempts.get(key);
      const texts = attempt?.framesFrom(question.from, Math.min(resendLimitBytes, room));
      if (!attempt || !texts) {
        gone.push(question);
        continue;
      }
      found.push(attempt);
      if (attempt.finishedAt !== undefined) attempt.finishedAt = now();
      for (const text of room > 0 ? texts : []) {
        room -= text.length;
        add(text);
      }
    }
    return { found, gone };
  };

  const post = (ingress: string, text: string, frames: number): void => {
    // While Redis is away nothing is sent: the frames are kept, and the next heartbeat makes the ingress ask for them.
    if (!bus.canPublish()) return;
    options.onPublished?.({ frames, bytes: text.length });
    bus.post(replyChannel(ingress), text);
  };

  /** Publishes a message, and sees whether its ingress listens. */
  const ask = async (ingress: string, text: string): Promise<void> => {
    options.onPublished?.({ frames: 0, bytes: text.length });
    const outbox = outboxOf(ingress);
    const receivers = await bus.publish(replyChannel(ingress), text).catch(() => undefined);
    if (receivers === 0) missed(ingress, outbox);
    else if (receivers !== undefined) outbox.missedAt = undefined;
  };

  /** A message had no receiver. Positions count as not told, so heartbeats repeat them until the ingress listens. */
  const missed = (ingress: string, outbox: Outbox): void => {
    for (const attempt of attempts.values()) if (attempt.ingress === ingress) attempt.toldNext = -1;
    if (outbox.missedAt === undefined) outbox.missedAt = now();
    else if (now() - outbox.missedAt >= missLimitMs) void abandonIfDead(ingress, outbox);
  };

  const abandonIfDead = async (ingress: string, outbox: Outbox): Promise<void> => {
    outbox.missedAt = undefined;
    const isAlive = await options.isIngressAlive(ingress).catch(() => true);
    if (isAlive) return;
    outboxes.delete(ingress);
    let count = 0;
    for (const [key, attempt] of attempts) {
      if (attempt.ingress !== ingress) continue;
      attempts.delete(key);
      attempt.abandon();
      count += 1;
    }
    options.onAbandoned?.(count);
  };

  const beat = (): void => {
    beats += 1;
    for (const [key, { finishedAt }] of attempts) {
      if (finishedAt !== undefined && now() - finishedAt > keepLimitMs) attempts.delete(key);
    }
    const isFull = beats % fullBeatEvery === 0;
    const told = list((attempt) => isFull || attempt.toldNext !== attempt.next);
    if (!isFull || !told) return;
    // A full heartbeat has told every ingress for which anything is kept. The others may be gone for good.
    for (const [ingress, { isScheduled }] of outboxes) {
      if (!isScheduled && !told.has(ingress)) outboxes.delete(ingress);
    }
  };

  /**
   * Publishes the positions of the attempts that `isWanted` selects. Returns for each of their ingresses a promise, which
   * resolves when Redis has answered. Absent while Redis is away: then none counts as told.
   */
  const list = (
    isWanted: (attempt: AttemptFrames) => boolean,
  ): ReadonlyMap<string, Promise<void>> | undefined => {
    if (!bus.canPublish()) return undefined;
    const byIngress = new Map<string, Running[]>();
    for (const attempt of attempts.values()) {
      if (!isWanted(attempt)) continue;
      attempt.toldNext = attempt.next;
      const running: Running = { ...attempt.claim, next: attempt.next };
      const told = byIngress.get(attempt.ingress);
      if (told) told.push(running);
      else byIngress.set(attempt.ingress, [running]);
    }
    return new Map(
      Array.from(byIngress, ([ingress, running]) => [
        ingress,
        ask(ingress, encodeBatch({ worker, running })),
      ]),
    );
  };

  const flush = async (): Promise<void> => {
    for (const [ingress, outbox] of outboxes) empty(ingress, outbox);
    // Redis answers positions, and takes them only after what was posted before.
    const answered = list(() => true)?.values() ?? [];
    const limit = new Promise((resolve) => setTimeout(resolve, flushLimitMs).unref());
    await Promise.race([Promise.all(answered), limit]);
  };

  return {
    tell: (ingress) => {
      list((attempt) => ingress === undefined || attempt.ingress === ingress);
    },
    start: () => {
      stopBeating ??= every(beatIntervalMs, beat);
    },
    open: ({ requestId, attempt, replyTo }, isAnnounced = false) => {
      const claim: Attempt = { requestId, attempt };
      const key = attemptId(claim);
      if (attempts.has(key)) return undefined;
      const outbox = outboxOf(replyTo);
      const frames = new AttemptFrames(claim, replyTo, (dirty) => {
        outbox.dirty.push(dirty);
        schedule(replyTo, outbox);
      });
      attempts.set(key, frames);
      if (isAnnounced) frames.announce();
      else {
        outbox.opened.push(frames);
        schedule(replyTo, outbox);
      }
      return frames;
    },
    resend: ({ requestId, attempt }, from, ingress) => {
      const outbox = outboxOf(ingress);
      outbox.asked.set(attemptId({ requestId, attempt }), { requestId, attempt, from });
      schedule(ingress, outbox);
    },
    acknowledge: (attempt, sequence) => {
      const key = attemptId(attempt);
      const frames = attempts.get(key);
      if (!frames) return;
      if (frames.finishedAt !== undefined) frames.finishedAt = now();
      if (frames.acknowledge(sequence)) attempts.delete(key);
    },
    forget: (attempt) => {
      attempts.delete(attemptId(attempt));
    },
    get keptBytes() {
      let bytes = 0;
      for (const attempt of attempts.values()) bytes += attempt.keptBytes;
      return bytes;
    },
    flush,
    close: async () => {
      stopBeating?.();
      stopBeating = undefined;
      await flush();
    },
  };
}

function everyInterval(intervalMs: number, callback: () => void): () => void {
  const timer = setInterval(callback, intervalMs);
  return () => clearInterval(timer);
}
