import type { Bus } from './bus.ts';
import { type Claim, encodeBatch, type Running } from './frame.ts';
import { replyChannel } from './names.ts';
import { AttemptFrames, type ReplyWriter } from './reply-writer.ts';

const beatIntervalMs = 500;
/** Every so many beats all attempts are listed, else only those that moved: a lost beat costs this many at most. */
const fullBeatEvery = 10;
const keepLimitMs = 60_000;
const batchLimitBytes = 256 * 1024;
const resendLimitBytes = 256 * 1024;

/** The worker's end of the reply path: frames out in batches, kept until acknowledged, repeated on demand. */
export interface ReplyPublisher {
  start(): void;
  /** Announces the claim of an attempt to its ingress and opens its frames. */
  open(attempt: Claim & { replyTo: string }): ReplyWriter;
  /** Publishes kept frames again, or says to `ingress` that they are gone. */
  resend(attempt: Claim, from: number, ingress: string): void;
  acknowledge(attempt: Claim, sequence: number): void;
  /** Forgets an attempt that nobody wants; its frames are not kept. */
  forget(attempt: Claim): void;
  /** Bytes of frames kept for all attempts. */
  readonly keptBytes: number;
  /** Publishes what is pending and stops beating. */
  close(): Promise<void>;
}

export interface PublisherOptions {
  bus: Bus;
  worker: string;
  /** Monotonic milliseconds. */
  now(): number;
  /** Whether the ingress process lives; asked when its channel has no receiver. */
  isIngressAlive(ingress: string): Promise<boolean>;
  onPublished?(batch: { frames: number; bytes: number }): void;
  onAbandoned?(attempts: number): void;
}

/** What waits for one ingress in this event-loop turn. */
interface Outbox {
  claims: Claim[];
  dirty: AttemptFrames[];
  repeated: string[];
  gone: Claim[];
  isScheduled: boolean;
  misses: number;
}

const keyOf = ({ requestId, attempt }: Claim): string => `${requestId}-${attempt}`;

export function createReplyPublisher(options: PublisherOptions): ReplyPublisher {
  const { bus, worker, now } = options;
  const attempts = new Map<string, AttemptFrames>();
  const outboxes = new Map<string, Outbox>();
  let beats = 0;
  let timer: NodeJS.Timeout | undefined;

  const outboxOf = (ingress: string): Outbox => {
    let outbox = outboxes.get(ingress);
    if (!outbox) {
      outbox = { claims: [], dirty: [], repeated: [], gone: [], isScheduled: false, misses: 0 };
      outboxes.set(ingress, outbox);
    }
    return outbox;
  };

  const schedule = (ingress: string, outbox: Outbox): void => {
    if (outbox.isScheduled) return;
    outbox.isScheduled = true;
    setImmediate(flush, ingress, outbox);
  };

  const flush = (ingress: string, outbox: Outbox): void => {
    outbox.isScheduled = false;
    let frames = outbox.repeated;
    let bytes = 0;
    let { claims, gone } = outbox;
    for (const attempt of outbox.dirty) {
      const text = attempt.takeFrame();
      if (text === undefined) continue;
      if (attempt.isEnded) attempt.finishedAt = now();
      frames.push(text);
      bytes += text.length;
      if (bytes < batchLimitBytes) continue;
      publish(ingress, outbox, encodeBatch({ worker, claims, frames, gone }), frames.length);
      [claims, gone, frames, bytes] = [[], [], [], 0];
    }
    outbox.claims = [];
    outbox.dirty = [];
    outbox.repeated = [];
    outbox.gone = [];
    if (claims.length + frames.length + gone.length === 0) return;
    publish(ingress, outbox, encodeBatch({ worker, claims, frames, gone }), frames.length);
  };

  const publish = (ingress: string, outbox: Outbox, text: string, frames: number): void => {
    // While Redis is away nothing is queued up: the frames are kept, and the next beat makes the ingress ask.
    if (!bus.canPublish()) return;
    options.onPublished?.({ frames, bytes: text.length });
    bus.publish(replyChannel(ingress), text).then(
      (receivers) => {
        outbox.misses = receivers > 0 ? 0 : outbox.misses + 1;
        if (outbox.misses >= 2) void abandonIfDead(ingress, outbox);
      },
      () => undefined,
    );
  };

  const abandonIfDead = async (ingress: string, outbox: Outbox): Promise<void> => {
    outbox.misses = 0;
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
    const isFull = beats % fullBeatEvery === 0;
    const byIngress = new Map<string, Running[]>();
    for (const [key, attempt] of attempts) {
      if (attempt.finishedAt !== undefined && now() - attempt.finishedAt > keepLimitMs) {
        attempts.delete(key);
        continue;
      }
      if (!isFull && attempt.toldNext === attempt.next) continue;
      attempt.toldNext = attempt.next;
      const running: Running = { ...attempt.claim, next: attempt.next };
      const list = byIngress.get(attempt.ingress);
      if (list) list.push(running);
      else byIngress.set(attempt.ingress, [running]);
    }
    for (const [ingress, running] of byIngress) {
      publish(ingress, outboxOf(ingress), encodeBatch({ worker, running }), 0);
    }
  };

  return {
    start: () => {
      timer ??= setInterval(beat, beatIntervalMs);
    },
    open: ({ requestId, attempt, replyTo }) => {
      const outbox = outboxOf(replyTo);
      const claim: Claim = { requestId, attempt };
      const frames = new AttemptFrames(claim, replyTo, (dirty) => {
        outbox.dirty.push(dirty);
        schedule(replyTo, outbox);
      });
      attempts.set(keyOf(claim), frames);
      outbox.claims.push(claim);
      schedule(replyTo, outbox);
      return frames;
    },
    resend: (attempt, from, ingress) => {
      const frames = attempts.get(keyOf(attempt));
      if (frames?.finishedAt !== undefined) frames.finishedAt = now();
      const outbox = outboxOf(ingress);
      const repeated = frames?.framesFrom(from, resendLimitBytes);
      if (repeated) outbox.repeated.push(...repeated);
      else outbox.gone.push(attempt);
      schedule(ingress, outbox);
    },
    acknowledge: (attempt, sequence) => {
      const key = keyOf(attempt);
      if (attempts.get(key)?.acknowledge(sequence)) attempts.delete(key);
    },
    forget: (attempt) => {
      attempts.delete(keyOf(attempt));
    },
    get keptBytes() {
      let bytes = 0;
      for (const attempt of attempts.values()) bytes += attempt.keptBytes;
      return bytes;
    },
    close: async () => {
      clearInterval(timer);
      timer = undefined;
      for (const [ingress, outbox] of outboxes) flush(ingress, outbox);
    },
  };
}
